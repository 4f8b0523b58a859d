import { operation, type Staff, succeeded, tool, unknown } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readDetail } from '../packages/company/src/audit/audit.ts'
import { asked, bookings, lists } from './setup/bookings.ts'
import { said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, omar, patiently, rita } from './setup/front-desk.ts'
import { type FreshStore, stores } from './setup/stores.ts'
import { testTools } from './setup/world-config.ts'

// What staff do is written down with it, and done once for a form however often that is sent, at two instances of one Company.

/** A tool that counts how often it ran. */
function charging() {
  const ran: { callId: string | undefined; staff: string | undefined }[] = []
  const charge = tool({
    name: 'charge',
    description: 'Charges the minibar.',
    scope: 'poppy:write',
    input: z.object({ amount: z.int().min(1) }),
    run({ amount }, { conversation }) {
      ran.push({ callId: conversation?.callId, staff: conversation?.staff })
      if (amount === 13) throw new Error('no such amount')
      return { charged: amount }
    },
  })
  return { ran, charge }
}

/** A room that is booked once: for the same room an agent gets back what it asked for. */
const bookOnce = operation({
  name: 'book_suite',
  description: 'Books a suite.',
  scope: 'poppy:write',
  input: z.object({ room: z.string(), nights: z.int() }),
  identity: ({ room }) => room,
  propose: ({ room, nights }) => ({ summary: `${nights} nights in ${room}.`, terms: { room, nights } }),
  perform: () => succeeded(),
})

async function desk(fresh: FreshStore) {
  const { ran, charge } = charging()
  const counts = { propose: 0, perform: 0 }
  const made = await makeFrontDesk(fresh, {
    operations: [...bookings(counts), bookOnce],
    tools: [...testTools(), charge],
    prepare: lists,
  })
  const db = await fresh.open()
  /** What the audit says: who did what. */
  const audit = async () => {
    const rows = await db.query
      .selectFrom('poppy_audit')
      .selectAll()
      .where('company', '=', 'https://miramar.example')
      .orderBy('at')
      .execute()
    return rows.map(({ staff_id, act, operation_id, detail }) => ({
      did: `${staff_id} ${act}`,
      operation: operation_id,
      detail: detail === null ? null : readDetail(detail).detail,
    }))
  }
  const { talk, signedIn } = await made.signIn()
  const { conversation_id: id } = await standingOf(await talk.start(said('Something from the bar, please.')))
  return { ...made, ran, counts, audit, id, talk, signedIn, client: asked(made.client, signedIn.access_token) }
}

async function refused(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return 'done'
  } catch (error) {
    const { code, extra } = error as { readonly code?: string; readonly extra?: { readonly because?: string } }
    return extra?.because ?? code ?? error
  }
}

describe.each(stores)('staff at work, on $name,', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test('run a tool once for a form, however often it is sent, and what ran is written down', async () => {
    const { staff, staffHere, id, ran, audit } = await desk(await fresh())
    await staff.take(id, rita)
    const run = (by: typeof staff, key: string, who: Staff = rita, amount = 5) =>
      by.callTool(id, who, 'charge', { amount }, { key })
    // Wrong input and a scope that isn't there run nothing, and keep the form fit to be sent again.
    expect(await run(staff, 'form-1', rita, 0)).toMatchObject({ ok: false, error: 'invalid_request' })
    expect(ran).toHaveLength(0)
    const both = await Promise.allSettled([run(staff, 'form-1'), run(staffHere, 'form-1'), run(staff, 'form-1')])
    expect(ran).toHaveLength(1)
    expect(both.filter(({ status }) => status === 'fulfilled')).toMatchObject([
      { value: { ok: true, value: { charged: 5 } } },
    ])
    expect(await refused(run(staffHere, 'form-1'))).toBe('already_done')
    expect(await refused(run(staff, 'form-1', rita, 6))).toBe('key_used')
    // Another key, and another's key, are of their own.
    expect(await run(staff, 'form-2', rita, 13)).toMatchObject({ ok: false, error: 'server_error' })
    expect(await refused(run(staff, 'form-2', rita, 13))).toBe('already_done')
    await staff.give(id, rita, omar)
    expect(await refused(run(staff, 'form-3'))).toBe('held_by_other')
    expect(await run(staff, 'form-1', omar)).toMatchObject({ ok: true })
    expect(ran.map((one) => one.staff)).toEqual(['rita', 'rita', 'omar'])
    expect(new Set(ran.map(({ callId }) => callId)).size).toBe(3)
    expect(await audit()).toEqual([
      { did: 'rita took', operation: null, detail: null },
      { did: 'rita ran', operation: null, detail: { tool: 'charge' } },
      { did: 'rita ran', operation: null, detail: { tool: 'charge', error: 'server_error' } },
      { did: 'rita gave', operation: null, detail: { to: omar } },
      { did: 'omar ran', operation: null, detail: { tool: 'charge' } },
    ])
  })

  test('propose once for a form, and the agent is told once', async () => {
    const { staff, staffHere, id, counts, audit, read, talk } = await desk(await fresh())
    await staff.take(id, rita)
    const propose = (by: typeof staff) => by.callTool(id, rita, 'book_room', { nights: 2 }, { key: 'form-1' })
    const [one, other] = await Promise.all([propose(staff), propose(staffHere)])
    expect(other).toEqual(one)
    const worked = counts.propose
    expect(await propose(staff)).toEqual(one)
    expect(counts.propose).toBe(worked)
    // A key is for one call, of whatever tool.
    expect(await refused(staff.callTool(id, rita, 'charge', { amount: 5 }, { key: 'form-1' }))).toBe('key_used')
    expect(await refused(staffHere.callTool(id, rita, 'book_room', { nights: 3 }, { key: 'form-1' }))).toBe('key_used')
    const told = (await read(id, talk)).events.flatMap((event) =>
      event.type === 'message' && event.message.operation ? [event.message.operation] : [],
    )
    expect(told).toHaveLength(1)
    expect((await audit()).at(-1)).toEqual({
      did: 'rita proposed',
      operation: told[0]?.operation_id,
      detail: { tool: 'book_room', revision: 1 },
    })
  })

  test('revise what was proposed, by its own propose, and the agent is told in the conversation', async () => {
    const { staff, staffHere, worlds, id, counts, audit, words, talk, client } = await desk(await fresh())
    await staff.take(id, rita)
    const outcome = await staff.callTool(id, rita, 'book_room', { nights: 2 })
    const { operation_id: opn } = (outcome as unknown as { operation: { operation_id: string } }).operation
    const revise = (by: typeof staff, revision: number, nights: unknown, key?: string, who = rita) =>
      by.reviseOperation(id, who, { operation: opn, revision, input: { nights } }, key === undefined ? {} : { key })
    expect(await revise(staff, 1, 'many')).toMatchObject({ ok: false, error: 'invalid_request' })
    const both = await Promise.all([revise(staff, 1, 3, 'form-1'), revise(staffHere, 1, 3, 'form-1')])
    for (const one of both) expect(one).toMatchObject({ ok: true, operation: { revision: 2, state: 'proposed' } })
    const proposed = counts.propose
    expect(await revise(staff, 1, 3, 'form-1')).toMatchObject({ ok: true, operation: { revision: 2 } })
    expect(counts.propose).toBe(proposed)
    // From a revision that is no longer the latest, nothing.
    expect(await revise(staff, 1, 4)).toMatchObject({ ok: false, error: 'revision_conflict' })
    expect(await refused(revise(staff, 2, 4, undefined, omar))).toBe('held_by_other')
    for (const { company } of worlds) while (!(await company.work()).isDone);
    expect((await words(id, talk)).at(-1)).toBe(
      'agent: The terms are others now, and nothing was confirmed: 3 nights in a sea view room, 390 €.',
    )
    const trail = await worlds[0]?.company.operations.trail(opn)
    expect(trail?.at(-1)).toMatchObject({
      event: 'revised',
      channel: 'staff',
      revision: 2,
      who: { staff: 'rita', name: 'Rita Alvarez' },
    })
    expect((await audit()).filter(({ did }) => did === 'rita revised')).toEqual([
      { did: 'rita revised', operation: opn, detail: { revision: 2 } },
    ])
    // The first terms can't be confirmed any more; the second can, by the User's side.
    expect((await client.confirm(opn, { revision: 1, approved_by: 'user' })).status).toBe(409)
    expect((await client.confirm(opn, { revision: 2, approved_by: 'user' })).status).toBe(200)
    expect(await revise(staff, 2, 4)).toMatchObject({ ok: false, error: 'revision_conflict' })
  })

  test('don’t revise a thing into another one', async () => {
    const { staff, id } = await desk(await fresh())
    await staff.take(id, rita)
    const outcome = await staff.callTool(id, rita, 'book_suite', { room: 'Sol', nights: 2 })
    const { operation_id: opn } = (outcome as unknown as { operation: { operation_id: string } }).operation
    const revise = (input: unknown) => staff.reviseOperation(id, rita, { operation: opn, revision: 1, input })
    expect(await revise({ room: 'Luna', nights: 2 })).toMatchObject({ ok: false, error: 'invalid_request' })
    expect(await revise({ room: 'Sol', nights: 3 })).toMatchObject({ ok: true, operation: { revision: 2 } })
  })

  test('lose the conversation and the Direct Conversation beside it, once they are gone for two minutes', async () => {
    const { staff, id, talk, clock, worlds, words } = await desk(await fresh())
    await staff.take(id, rita)
    await staff.askForUser(id, rita, 'To choose a room.')
    const opened = await talk.start(said('Here I am.', { sender: 'human' }), { parent: id })
    const { conversation_id: direct } = await standingOf(opened)
    expect((await staff.heldBy('rita')).map((one) => one.id).sort()).toEqual([id, direct].sort())
    clock.now += 2 * 60_000
    for (const { company } of worlds) while (!(await company.work()).isDone);
    expect(await staff.heldBy('rita')).toEqual([])
    expect((await staff.queue()).map((one) => one.id).sort()).toEqual([id, direct].sort())
    expect((await words(direct, talk)).at(-1)).toBe('queued/agent')
  })

  test('settle what nobody knows, and cancel, with who and why in the trail and in the audit, once for a form', async () => {
    const lost = operation({
      name: 'lost',
      description: 'Nobody hears what comes of it.',
      scope: 'poppy:write',
      propose: () => ({ summary: 'Something.' }),
      perform: () => unknown(),
    })
    const made = await makeFrontDesk(await fresh(), { operations: [lost], prepare: lists })
    const { signedIn } = await made.signIn()
    const client = asked(made.client, signedIn.access_token)
    const [one, other] = [await client.propose('lost'), await client.propose('lost')]
    await client.confirm(one.operation_id)
    const all = made.worlds.map(({ company }) => company.operations)
    const [here, there] = all as [(typeof all)[0], (typeof all)[0]]
    await expect
      .poll(async () => {
        await made.work()
        return (await here.get(one.operation_id))?.unknownSince
      }, patiently)
      .not.toBeNull()
    const settle = (at: typeof here, key: string, by: Staff | string = rita) =>
      at.settle(one.operation_id, succeeded({ booking: 'B17' }), { by, why: 'It is in the book.' }, { key })
    for (const by of [{ id: 'rita' }, { id: '', name: 'Rita' }, '', ' ', null])
      await expect(settle(here, 'form-0', by as never)).rejects.toThrow(TypeError)
    const both = await Promise.all([settle(here, 'form-1'), settle(there, 'form-1')])
    for (const record of both) expect(record).toMatchObject({ state: 'succeeded', result: { booking: 'B17' } })
    expect(await settle(there, 'form-1')).toMatchObject({ state: 'succeeded' })
    expect(await refused(settle(there, 'form-2'))).toBe('revision_conflict')
    expect(await refused(settle(there, 'form-1', omar))).toBe('revision_conflict')
    expect((await here.trail(one.operation_id)).filter(({ event }) => event === 'settled')).toMatchObject([
      {
        channel: 'staff',
        who: { staff: 'rita', name: 'Rita Alvarez' },
        detail: { as: 'succeeded', why: 'It is in the book.' },
      },
    ])
    const cancel = (at: typeof here) =>
      at.cancel(other.operation_id, { by: rita, reason: 'The guest called.' }, { key: 'form-1' })
    const cancelled = await Promise.all([cancel(here), cancel(there)])
    for (const record of cancelled) expect(record).toMatchObject({ state: 'cancelled' })
    const otherwise = there.cancel(other.operation_id, { by: rita, reason: 'The guest wrote.' }, { key: 'form-1' })
    expect(await refused(otherwise)).toBe('key_used')
    // A job of the company's own is somebody too.
    const third = await client.propose('lost')
    const revise = (at: typeof here, summary: string) =>
      at.revise(third.operation_id, { revision: 1, summary, terms: {} }, { by: 'a job' }, { key: 'form-1' })
    const revised = await Promise.all([revise(here, 'One.'), revise(there, 'One.')])
    for (const record of revised) expect(record).toMatchObject({ revision: 2, summary: 'One.' })
    expect(await refused(revise(there, 'Two.'))).toBe('key_used')
    await here.cancel(third.operation_id, { by: 'the nightly job' })
    const { entries } = await made.staff.audit()
    expect(entries.map(({ staff, act, operation, detail }) => [staff.id, act, operation, detail]).sort()).toEqual(
      [
        ['rita', 'settled', one.operation_id, { as: 'succeeded', why: 'It is in the book.' }],
        ['rita', 'cancelled', other.operation_id, { reason: 'The guest called.' }],
        ['a job', 'revised', third.operation_id, { revision: 2 }],
        ['the nightly job', 'cancelled', third.operation_id, {}],
      ].sort(),
    )
  })
})
