import type { WireEvent } from '@poppyseed/protocol'
import { sql } from 'kysely'
import { type CompanyAgent, operation, succeeded } from 'poppyseed'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { asked, lists } from './setup/bookings.ts'
import { said, standingOf } from './setup/converse.ts'
import { makeFrontDesk, omar, patiently, rita } from './setup/front-desk.ts'
import { type FreshStore, stores } from './setup/stores.ts'

// What is proposed in a conversation is told in it, once, whatever fails between: a proposal that nobody is told of is none, and
// neither is one that nobody kept.

/** What is written with a proposal, by the column without which that can't be. */
const columns = { events: 'body', audit: 'operation_id', steps: 'outcome' } as const
type Failing = keyof typeof columns

async function desk(fresh: FreshStore, agent?: CompanyAgent) {
  const db = await fresh.open()
  const state = { proposed: 0, identity: undefined as string | undefined }
  let meanwhile: (() => Promise<unknown>) | null = null
  const book = operation({
    name: 'book_room',
    description: 'Books a room.',
    scope: 'poppy:write',
    input: z.object({ nights: z.int() }),
    identity: () => state.identity,
    async propose({ nights }) {
      state.proposed += 1
      const now = meanwhile
      meanwhile = null
      await now?.()
      return { summary: `${nights} nights.`, terms: { nights } }
    },
    perform: () => succeeded(),
  })
  const made = await makeFrontDesk(fresh, {
    ...{ operations: [book], prepare: lists },
    ...(agent === undefined ? {} : { agent }),
  })
  const { talk, signedIn } = await made.signIn()
  const operations = async () => (await made.worlds[0]?.company.operations.list())?.operations ?? []
  /** The operations that a conversation has told, each time that it did. */
  const toldIn = async (id: string) =>
    (await made.read(id, talk)).events.flatMap((event: WireEvent) =>
      event.type === 'message' && event.message.operation ? [event.message.operation.operation_id] : [],
    )
  const rename = (table: Failing, from: string, to: string) =>
    sql`alter table ${sql.table(`poppy_${table}`)} rename column ${sql.id(from)} to ${sql.id(to)}`.execute(db.query)
  return {
    ...made,
    db,
    talk,
    state,
    operations,
    toldIn,
    client: asked(made.client, signedIn.access_token),
    /** Begins a conversation that rita has. */
    async held() {
      const { conversation_id: id } = await standingOf(await talk.start(said('Two nights, please.')))
      await made.staff.take(id, rita)
      return id
    },
    /** What happens while the next proposal is worked out. */
    meanwhile: (run: () => Promise<unknown>) => {
      meanwhile = run
    },
    lose: (table: Failing) => rename(table, columns[table], 'gone'),
    mend: (table: Failing) => rename(table, 'gone', columns[table]),
  }
}

const idOf = (outcome: unknown) => (outcome as { operation?: { operation_id: string } }).operation?.operation_id

describe.each(stores)('what is proposed, on $name,', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)

  test.each(['events', 'audit'] as const)(
    'by staff is told once or isn’t there, where its %s can’t be written; the same form gives what there is',
    async (what) => {
      const { staff, held, lose, mend, meanwhile, operations, toldIn } = await desk(await fresh())
      const id = await held()
      const form = () => staff.callTool(id, rita, 'book_room', { nights: 2 }, { key: 'form-1' })
      meanwhile(() => lose(what))
      await expect(form()).rejects.toThrow()
      await mend(what)
      expect(await operations()).toEqual([])
      expect(await toldIn(id)).toEqual([])
      const proposed = await form()
      expect(proposed).toMatchObject({ ok: true, operation: { state: 'proposed', revision: 1 } })
      expect(await form()).toEqual(proposed)
      expect((await operations()).map((one) => one.id)).toEqual([idOf(proposed)])
      expect(await toldIn(id)).toEqual([idOf(proposed)])
      // 7.2: with the first word of it the conversation is the account's.
      expect((await staff.read(id)).conversation.account).toBe('acc-maya')
      const acts = (await staff.audit()).entries.filter(({ act }) => act !== 'took')
      expect(acts).toMatchObject([{ act: 'proposed', operation: idOf(proposed) }])
    },
  )

  test('by staff and open already is told once in the conversation, or not noted there at all', async () => {
    const { staff, held, lose, mend, state, client, operations, toldIn } = await desk(await fresh())
    state.identity = 'the room'
    const before = (await client.propose('book_room', { nights: 2 })).operation_id
    const id = await held()
    const form = () => staff.callTool(id, rita, 'book_room', { nights: 2 }, { key: 'form-1' })
    await lose('events')
    await expect(form()).rejects.toThrow()
    await mend('events')
    expect(await operations()).toMatchObject([{ id: before, conversationId: null }])
    for (let times = 0; times < 2; times++) expect(idOf(await form())).toBe(before)
    expect(await operations()).toMatchObject([{ id: before, conversationId: id }])
    expect(await toldIn(id)).toEqual([before])
  })

  test('by one form that is sent three times at once, to two instances, is told once', async () => {
    const { staff, staffHere, held, operations, toldIn } = await desk(await fresh())
    for (let round = 1; round <= 5; round++) {
      const id = await held()
      const answers = await Promise.all(
        [staff, staffHere, staff].map((by) => by.callTool(id, rita, 'book_room', { nights: 2 }, { key: 'form-1' })),
      )
      expect(await toldIn(id)).toEqual([idOf(answers[0])])
      expect(new Set(answers.map(idOf)).size).toBe(1)
      expect(await operations()).toHaveLength(round)
    }
  })

  test('by staff while others write is told all the same', async () => {
    const { staff, staffHere, held, meanwhile, talk, toldIn } = await desk(await fresh())
    const id = await held()
    // As many changes at that moment as there can be: its own is decided again on what is there.
    const others = async () =>
      void Promise.all(Array.from({ length: 12 }, (_, n) => staffHere.note(id, omar, `Note ${n}`))).catch(() => {})
    for (let round = 1; round <= 3; round++) {
      meanwhile(others)
      const [proposed] = await Promise.all([
        staff.callTool(id, rita, 'book_room', { nights: round }),
        ...Array.from({ length: 5 }, (_, n) => talk.send(id, said(`More ${round} ${n}`))),
      ])
      expect((await toldIn(id)).filter((one) => one === idOf(proposed))).toHaveLength(1)
    }
  })

  test('in a conversation that closes meanwhile isn’t proposed; in one that is lost meanwhile it is told', async () => {
    const { staff, staffHere, held, meanwhile, read, talk, operations, toldIn } = await desk(await fresh())
    const closing = await held()
    const form = (id: string) => staff.callTool(id, rita, 'book_room', { nights: 2 }, { key: 'form-1' })
    meanwhile(() => staffHere.close(closing, rita))
    await expect(form(closing)).rejects.toMatchObject({ code: 'conversation_closed' })
    expect(await operations()).toEqual([])
    const given = await held()
    meanwhile(() => staffHere.give(given, rita, omar))
    const proposed = await form(given)
    expect(await toldIn(given)).toEqual([idOf(proposed)])
    expect((await read(given, talk)).events.at(-1)).toMatchObject({ message: { sender: 'agent' } })
    // Whoever doesn't have the conversation is shown nothing of it.
    await expect(form(given)).rejects.toMatchObject({ extra: { because: 'already_done' } })
  })

  test.each(['events', 'steps'] as const)(
    'by the Company Agent is told once or isn’t there, where its %s can’t be written, though nobody asks for it again',
    async (what) => {
      let turns = 0
      const agent: CompanyAgent = async function* () {
        turns += 1
        // A model that is asked again may do something else.
        if (turns === 1) yield { type: 'call', name: 'book_room', input: { nights: 2 } }
        else yield { type: 'text', text: 'What would you like?' }
      }
      const { staff, lose, mend, meanwhile, state, talk, clock, worlds, read, operations, toldIn } = await desk(
        await fresh(),
        agent,
      )
      meanwhile(() => lose(what))
      const { conversation_id: id } = await standingOf(await talk.start(said('Two nights, please.')))
      await expect.poll(() => state.proposed, patiently).toBe(1)
      await worlds[0]?.company.work()
      await new Promise(setImmediate)
      await expect.poll(async () => turns, patiently).toBeGreaterThanOrEqual(1)
      await mend(what)
      clock.now += 31_000
      await expect
        .poll(async () => {
          await worlds[1]?.company.work()
          return (await read(id, talk)).status
        }, patiently)
        .toBe('idle')
      expect((await staff.read(id)).conversation.responder).toBe('agent')
      expect(await toldIn(id)).toEqual((await operations()).map((one) => one.id))
    },
  )

  test('by the Company Agent when a person takes over is told by nobody, and isn’t there', async () => {
    const agent: CompanyAgent = async function* () {
      yield { type: 'call', name: 'book_room', input: { nights: 2 } }
    }
    const { staff, meanwhile, state, talk, operations, toldIn } = await desk(await fresh(), agent)
    const { promise: working, resolve: works } = Promise.withResolvers<void>()
    const { promise: taken, resolve: takes } = Promise.withResolvers<void>()
    meanwhile(async () => {
      works()
      await taken
    })
    const { conversation_id: id } = await standingOf(await talk.start(said('Two nights, please.')))
    await working
    await staff.take(id, rita)
    takes()
    // The next one is told, so whatever there was of the first would be there by then.
    expect(await staff.callTool(id, rita, 'book_room', { nights: 3 })).toMatchObject({ ok: true })
    expect(state.proposed).toBe(2)
    expect(await operations()).toMatchObject([{ summary: '3 nights.' }])
    expect(await toldIn(id)).toHaveLength(1)
  })
})
