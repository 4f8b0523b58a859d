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
  let arrived = () => {}
  const world = await openBookings({ operations: slow(gate.promise) }, undefined, (company) => (request) => {
    const answer = company.fetch(request)
    if (request.url.includes('wait=')) arrived()
    return answer
  })
  const { access_token } = await signedIn(world)
  const agent = asked(world.agent, access_token)
  const { operation_id: id } = await agent.propose('slow')
  /** Begins to wait: it has arrived, and another request has gone its way after it. */
  async function wait(): Promise<{ readonly answer: Promise<Response> }> {
    const there = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const answer = agent.read(id, '?wait=30')
    await there
    await agent.read(id)
    return { answer }
  }
  return { world, agent, id, gate, wait }
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
    const { world, agent, id, gate, wait } = await open()
    const { answer: first } = await wait()
    expect(await isAnswered(first, () => agent.read(id))).toBe(false)
    await world.company.operations.revise(id, { revision: 1, summary: 'Slower.' }, { by: 'Rita' })
    expect((await told(await first)).operation).toMatchObject({ revision: 2, summary: 'Slower.' })
    const { answer: second } = await wait()
    const confirmed = agent.confirm(id, { revision: 2, approved_by: 'user', wait: 30 })
    expect((await told(await second)).is).toBe('200 in_progress')
    const { answer: third } = await wait()
    expect(await isAnswered(confirmed, () => agent.read(id))).toBe(false)
    gate.resolve()
    expect((await told(await confirmed)).is).toBe('200 succeeded')
    expect((await told(await third)).is).toBe('200 succeeded')
    // Nothing is to come.
    expect((await told(await agent.read(id, '?wait=30'))).is).toBe('200 succeeded')
  })

  it('ends when a proposal is over, and when nothing is waited for', async () => {
    const { world, agent, id, gate, wait } = await open()
    expect((await told(await agent.read(id, '?wait=0'))).is).toBe('200 proposed')
    const { answer: waiting } = await wait()
    world.clock.now += 900_000
    await agent.read(id)
    expect((await told(await waiting)).is).toBe('200 expired')
    gate.resolve()
  })

  it('tells nothing to whoever was signed out meanwhile', async () => {
    const { world, agent, id, gate, wait } = await open()
    await agent.confirm(id)
    const { answer: waiting } = await wait()
    await world.company.accounts.revokeAll('acc-maya')
    gate.resolve()
    expect(await outcome(await waiting)).toBe('403 sign_in_required')
  })

  it('is for so many of a Session at once: further ones are answered as it is', async () => {
    const { agent, id, gate } = await open()
    await agent.confirm(id)
    // Whichever comes last is the one too many.
    const states = Array.from({ length: 9 }, async () => (await told(await agent.read(id, '?wait=30'))).is)
    expect(await Promise.race(states)).toBe('200 in_progress')
    gate.resolve()
    expect((await Promise.all(states)).sort()).toEqual(['200 in_progress', ...Array(8).fill('200 succeeded')])
  })

  it('is answered when the Company closes', async () => {
    const { world, gate, wait } = await open()
    const { answer: waiting } = await wait()
    const closing = world.company.close()
    expect((await told(await waiting)).is).toBe('200 proposed')
    gate.resolve()
    await closing
  })
})
