import { cancelled, type OperationEvent, operation, succeeded, tooLate, unknown } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { asked, lists, openBookings, signedIn, told } from './setup/bookings.ts'
import type { World } from './setup/world.ts'

/** What the company's own code and staff see of operations, and do with them. */

/** An operation that begins, and ends when it is let. */
function slow(cancel?: () => ReturnType<typeof cancelled> | ReturnType<typeof tooLate>) {
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const definition = operation({
    name: 'slow',
    description: 'Takes its time.',
    scope: 'poppy:write',
    propose: () => ({ summary: 'Something slow.', terms: {} }),
    async perform() {
      begun.resolve()
      await gate.promise
      return succeeded({ done: true })
    },
    ...(cancel === undefined ? {} : { cancel }),
  })
  return { operations: [definition], begun: begun.promise, end: gate.resolve }
}

/** Works until nothing is due any more. */
async function work({ company, clock }: Pick<World, 'company' | 'clock'>) {
  for (let turn = 0; turn < 20; turn++) {
    if ((await company.work()).isDone) return
    clock.now += 1
  }
}

describe('company.operations', () => {
  it('gives one, and all in pages, newest first, by account, agent, name and state', async () => {
    const world = await openBookings()
    const maya = asked(world.agent, (await signedIn(world)).access_token)
    for (let nights = 1; nights <= 5; nights++) {
      await maya.propose('book_room', { nights })
      world.clock.now += 1000
    }
    const cancelledOne = await maya.propose('cancel_booking', { booking: 'b-1' })
    await maya.cancel(cancelledOne.operation_id)
    world.site.account = { id: 'acc-bob', name: 'bob@example.com' }
    const other = await world.newAgent()
    lists(other)
    await asked(other, (await signedIn(world, other)).access_token).propose('book_room', { nights: 9 })
    const { operations } = world.company
    const summaries = async (...asked: Parameters<typeof operations.list>) =>
      (await operations.list(...asked)).operations.map(({ summary }) => summary.split(',')[0])
    expect(await summaries()).toHaveLength(7)
    expect(await summaries({ account: 'acc-bob' })).toEqual(['9 nights in a sea view room'])
    expect(await summaries({ clientId: other.clientId })).toHaveLength(1)
    expect(await summaries({ name: 'cancel_booking' })).toHaveLength(1)
    expect(await summaries({ state: 'cancelled' })).toHaveLength(1)
    expect(await summaries({ account: 'nobody' })).toEqual([])
    const seen: string[] = []
    let after: string | null = null
    do {
      const page: Awaited<ReturnType<typeof operations.list>> = await operations.list({
        account: 'acc-maya',
        limit: 2,
        ...(after === null ? {} : { after }),
      })
      seen.push(...page.operations.map(({ id }) => id))
      after = page.after
    } while (after !== null)
    expect(new Set(seen).size).toBe(6)
    expect(seen[0]).toBe(cancelledOne.operation_id)

    const one = await operations.get(seen[1] ?? '')
    expect(one).toMatchObject({
      name: 'book_room',
      state: 'proposed',
      account: 'acc-maya',
      clientId: world.agent.clientId,
      input: { nights: 5 },
      data: { rate: 'flexible' },
      confirmation: null,
      page: `${world.origin}/poppy/operations/${one?.id}/page`,
    })
    expect(Object.isFrozen(one)).toBe(true)
    expect(await operations.get('opn_unknown')).toBeNull()
    expect(await operations.get(undefined as never)).toBeNull()
    expect(await operations.trail('opn_unknown')).toEqual([])
    for (const wrong of [{ limit: 0 }, { limit: 201 }, { after: 'x' }, { state: 'open' }, { account: 7 }])
      await expect(operations.list(wrong as never)).rejects.toThrow(TypeError)
  })

  it('revises a proposal as a whole, and says no to what isn’t one', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('book_room', { nights: 1 })
    const { operations } = world.company
    const next = { revision: 1, summary: 'Another room.' }
    for (const [revision, by] of [
      [{ ...next, summary: '' }, { by: 'Rita' }],
      [{ ...next, terms: { at: new Date() } }, { by: 'Rita' }],
      [next, { by: '' }],
      [next, {}],
    ] as const)
      await expect(operations.revise(id, revision, by as { by: string })).rejects.toThrow(TypeError)
    await expect(operations.revise('opn_unknown', next, { by: 'Rita' })).rejects.toMatchObject({
      code: 'operation_not_found',
    })
    await expect(operations.revise(id, { ...next, revision: 2 }, { by: 'Rita' })).rejects.toMatchObject({
      code: 'revision_conflict',
    })
    // Two at once: one of them.
    const both = await Promise.allSettled([
      operations.revise(id, { ...next, approval: 'page' }, { by: 'Rita' }),
      operations.revise(id, { ...next, approval: 'page' }, { by: 'Karl' }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const { operation: now } = await told(await agent.read(id))
    expect(now).toMatchObject({ revision: 2, summary: 'Another room.', user_approval_required: true })
    expect(now.terms).toBeUndefined()
    expect(now.confirmation_url).toBe(`${world.origin}/poppy/operations/${id}/page`)
    world.clock.now += 900_000
    await expect(operations.revise(id, { ...next, revision: 2 }, { by: 'Rita' })).rejects.toMatchObject({
      code: 'revision_conflict',
    })
  })

  it('cancels what has not begun, with a reason that the agent reads', async () => {
    const world = await openBookings()
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('book_room', { nights: 1 })
    const done = await world.company.operations.cancel(id, { by: 'Rita', reason: 'The house is closed.' })
    expect(done).toMatchObject({ state: 'cancelled', result: { reason: 'The house is closed.' } })
    expect((await told(await agent.read(id))).operation.result).toEqual({ reason: 'The house is closed.' })
    await expect(world.company.operations.cancel('opn_unknown', { by: 'Rita' })).rejects.toMatchObject({
      code: 'operation_not_found',
    })
    expect((await world.company.operations.trail(id)).at(-1)).toMatchObject({
      event: 'cancelled',
      channel: 'company',
      who: { staff: 'Rita' },
    })
  })

  it('is told of each operation by hooks, with a key', async () => {
    const events: OperationEvent[] = []
    const note = (event: OperationEvent) => void events.push(event)
    const world = await openBookings({
      onOperation: { proposed: note, revised: note, confirmed: note, finished: note },
    })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('book_room', { nights: 1 })
    await world.company.operations.revise(
      id,
      { revision: 1, summary: 'Another.', terms: { nights: 4 } },
      { by: 'Rita' },
    )
    await agent.confirm(id, { revision: 2, approved_by: 'user', wait: 20 })
    await work(world)
    expect(events.map(({ event }) => event).sort()).toEqual(['confirmed', 'finished', 'proposed', 'revised'])
    expect(new Set(events.map(({ key }) => key)).size).toBe(4)
    expect(events.at(-1)?.operation).toMatchObject({ id, account: 'acc-maya' })
  })

  it('lists what nobody knows, until it is settled [ops.unknown-outcome]', async () => {
    const puzzling = operation({
      name: 'puzzling',
      description: 'Nobody knows.',
      scope: 'poppy:write',
      propose: () => ({ summary: 'Something.' }),
      perform: () => unknown(),
    })
    const world = await openBookings({ operations: [puzzling] })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('puzzling')
    await agent.confirm(id)
    for (let turn = 0; turn < 100 && (await world.company.operations.unsettled()).length === 0; turn++)
      await world.company.work()
    expect((await world.company.operations.unsettled()).map((one) => one.id)).toEqual([id])
    expect((await told(await agent.read(id))).is).toBe('200 in_progress')
    const waiting = agent.read(id, '?wait=20')
    await world.company.operations.settle(id, succeeded({ booking: 'B17' }), { by: 'Rita', why: 'It is in the book.' })
    expect(await told(await waiting)).toMatchObject({ is: '200 succeeded', operation: { result: { booking: 'B17' } } })
    expect(await world.company.operations.unsettled()).toEqual([])
  })
})

describe('cancelling what has begun', () => {
  it.each([
    ['is stopped where the company says that nothing is left of it', () => cancelled('Stopped in time.'), 'cancelled'],
    ['comes too late where the company says so', () => tooLate(), 'succeeded'],
    ['comes too late where nothing stops it', undefined, 'succeeded'],
  ])('%s [ops.cancel-certain]', async (_, cancel, state) => {
    const { operations, begun, end } = slow(cancel)
    const world = await openBookings({ operations })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('slow')
    await agent.confirm(id)
    await begun
    // Asked for: it is as it is until the company knows. Asked twice is asked once.
    expect((await told(await agent.cancel(id))).is).toBe('200 in_progress')
    expect((await told(await agent.cancel(id))).is).toMatch(/^200 (?:in_progress|cancelled)$/)
    const trail = async () => (await world.company.operations.trail(id)).map(({ event }) => event)
    expect((await trail()).filter((event) => event === 'cancel_asked')).toHaveLength(1)
    await work(world)
    end()
    const done = await told(await agent.read(id, '?wait=20'))
    expect(done.is).toBe(`200 ${state}`)
    if (state === 'cancelled') expect(done.operation.result).toEqual({ reason: 'Stopped in time.' })
  })

  it('needs the rights that confirming needs [ops.insufficient-scope]', async () => {
    const { operations, begun, end } = slow()
    const world = await openBookings({ operations })
    const agent = asked(world.agent, (await signedIn(world)).access_token)
    const { operation_id: id } = await agent.propose('slow')
    await agent.confirm(id)
    await begun
    await world.company.accounts.takeAway('acc-maya', world.agent.clientId, 'poppy:write')
    expect((await told(await agent.cancel(id))).is).toBe('403 insufficient_scope')
    end()
  })
})
