import { operation, succeeded } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { asked, openBookings, signedIn, told } from './setup/bookings.ts'
import { outcome } from './setup/world.ts'

/** Answers that are put off until something changes. None of these tests waits for the time to pass. */

const slow = (gate: Promise<void>) => [
  operation({
    name: 'slow',
    description: 'Takes its time.',
    scope: 'poppy:write',
    propose: () => ({ summary: 'Something slow.' }),
    perform: async () => {
      await gate
      return succeeded({ done: true })
    },
  }),
]

async function open() {
  const gate = Promise.withResolvers<void>()
  const world = await openBookings({ operations: slow(gate.promise) })
  const { access_token } = await signedIn(world)
  const agent = asked(world.agent, access_token)
  const { operation_id: id } = await agent.propose('slow')
  return { world, agent, id, gate }
}

/** Whether it is answered yet, after other requests have come and gone. */
async function isAnswered(answer: Promise<Response>, meanwhile: () => Promise<unknown>): Promise<boolean> {
  let done = false
  void answer.then(() => {
    done = true
  })
  for (let turn = 0; turn < 5; turn++) await meanwhile()
  return done
}

describe('a wait', () => {
  it('ends with the next change: a revision, a confirmation, the end', async () => {
    const { world, agent, id, gate } = await open()
    const first = agent.read(id, '?wait=30')
    expect(await isAnswered(first, () => agent.read(id))).toBe(false)
    await world.company.operations.revise(id, { revision: 1, summary: 'Slower.' }, { by: 'Rita' })
    expect((await told(await first)).operation).toMatchObject({ revision: 2, summary: 'Slower.' })
    const second = agent.read(id, '?wait=30')
    const confirmed = agent.confirm(id, { revision: 2, approved_by: 'user', wait: 30 })
    expect((await told(await second)).is).toBe('200 in_progress')
    const third = agent.read(id, '?wait=30')
    expect(await isAnswered(confirmed, () => agent.read(id))).toBe(false)
    gate.resolve()
    expect((await told(await confirmed)).is).toBe('200 succeeded')
    expect((await told(await third)).is).toBe('200 succeeded')
    // Nothing is to come.
    expect((await told(await agent.read(id, '?wait=30'))).is).toBe('200 succeeded')
  })

  it('ends when a proposal is over, and when nothing is waited for', async () => {
    const { world, agent, id, gate } = await open()
    expect((await told(await agent.read(id, '?wait=0'))).is).toBe('200 proposed')
    const waiting = agent.read(id, '?wait=30')
    await agent.read(id)
    world.clock.now += 900_000
    await agent.read(id)
    expect((await told(await waiting)).is).toBe('200 expired')
    gate.resolve()
  })

  it('tells nothing to whoever was signed out meanwhile', async () => {
    const { world, agent, id, gate } = await open()
    await agent.confirm(id)
    const waiting = agent.read(id, '?wait=30')
    await agent.read(id)
    await world.company.accounts.revokeAll('acc-maya')
    gate.resolve()
    expect(await outcome(await waiting)).toBe('403 sign_in_required')
  })

  it('is for so many of a Session at once: further ones are answered as it is', async () => {
    const { agent, id, gate } = await open()
    await agent.confirm(id)
    const waiting = Array.from({ length: 8 }, () => agent.read(id, '?wait=30'))
    for (const one of waiting) expect(await isAnswered(one, async () => {})).toBe(false)
    // All of them wait once a ninth is answered at once.
    let answer = await told(await agent.read(id, '?wait=1'))
    for (let turn = 0; turn < 20 && answer.is !== '200 in_progress'; turn++)
      answer = await told(await agent.read(id, '?wait=1'))
    expect(answer.is).toBe('200 in_progress')
    gate.resolve()
    for (const one of waiting) expect((await told(await one)).is).toBe('200 succeeded')
  })

  it('is answered when the Company closes', async () => {
    const { world, agent, id, gate } = await open()
    const waiting = agent.read(id, '?wait=30')
    await agent.read(id)
    const closing = world.company.close()
    expect((await told(await waiting)).is).toBe('200 proposed')
    gate.resolve()
    await closing
  })
})
