import { describe, expect, it } from 'vitest'
import { caller, conversationParts, message, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { days, now, operationRow, revisionRow, sessionRow } from '../../../../test/setup/rows.ts'
import { silent, stores } from '../../../../test/setup/stores.ts'
import { erasePerson, exportPerson } from '../accounts/person.ts'
import { readAudit } from '../audit/reading.ts'
import { insertOperation } from '../operations/store.ts'
import { insertSession } from '../sessions/store.ts'
import { cleanUp } from '../store/clean-up.ts'
import type { Scope } from '../store/database.ts'
import { accepted, closed, directOpened } from './conversation.ts'
import { eventId, readCursor } from './cursor.ts'
import { changeConversation, withConversation } from './ledger.ts'
import type { ConversationRow, Decision } from './row.ts'
import { eventsAfter, findConversation } from './store.ts'

/** What stays of conversations, for how long, and what is left when a person is erased. */

const company = 'https://miramar.example'

describe.each(stores)('Conversations that are kept in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function start(): Promise<Scope> {
    const scope = { db: await (await fresh()).open(), company }
    await insertSession(scope, sessionRow())
    return scope
  }
  const at = (scope: Scope, time: number) => conversationParts(scope, { now: () => time }).parts
  const change = async (scope: Scope, id: string, time: number, decide: (row: ConversationRow) => Decision | null) =>
    (await withConversation(at(scope, time), id, decide))?.row
  const say = (scope: Scope, id: string, time: number, text = 'And parking?') =>
    change(scope, id, time, (row) =>
      accepted(row, { message: message({ id: `m${row.version}`, text }), caller: caller(), now: time }),
    )
  const close = (scope: Scope, id: string, time = now) => change(scope, id, time, (row) => closed(row, time))
  const answer = (scope: Scope, id: string, time = now) =>
    change(scope, id, time, (row) => ({ set: { answered: row.asked }, events: [] }))
  const tables = ['poppy_conversations', 'poppy_events', 'poppy_receipts', 'poppy_steps', 'poppy_notes'] as const
  const counts = async ({ db }: Scope) =>
    Promise.all(tables.map(async (table) => (await db.query.selectFrom(table).select('company').execute()).length))
  const clean = (scope: Scope, time: number, more: Partial<Parameters<typeof cleanUp>[1]> = {}) =>
    cleanUp(scope, { now: time, limit: 100, log: silent, rest: async () => {}, ...more })
  /** What turns and staff leave beside the events. */
  async function annotate(scope: Scope, id: string): Promise<void> {
    const common = { company, conversation_id: id, created_at: now }
    await scope.db.query
      .insertInto('poppy_steps')
      .values({ ...common, turn: 1, step: 1, digest: 'd', outcome: '{"secret":"of a tool"}' })
      .execute()
    await scope.db.query
      .insertInto('poppy_notes')
      .values({ ...common, number: 1, kind: 'note', who: '{"staff":"Rita"}', text: 'asks often', data: null })
      .execute()
  }

  test('stay for a year after they were closed, and for good while they are open', async () => {
    const scope = await start()
    const open = await startConversation(scope)
    const { id } = await startConversation(scope)
    await annotate(scope, id)
    await close(scope, id)
    await clean(scope, now + days(365))
    expect(await counts(scope)).toEqual([2, 5, 2, 1, 1])
    expect((await clean(scope, now + days(365) + 1)).isDone).toBe(true)
    expect(await counts(scope)).toEqual([1, 2, 1, 0, 0])
    expect(await findConversation(scope, open.id)).not.toBeNull()
    expect((await clean(scope, now + days(3650))).rows).toBe(0)
    expect(await findConversation(scope, open.id)).not.toBeNull()
  })

  test('go in small bites, a long one from its beginning', async () => {
    const scope = await start()
    const { id } = await startConversation(scope)
    for (let n = 0; n < 25; n++) await say(scope, id, now)
    await close(scope, id)
    const retention = { conversations: days(1) }
    const bite = await clean(scope, now + days(2), { limit: 10, mostBites: 1, retention })
    expect(bite).toEqual({ rows: 10, isDone: false })
    const row = (await findConversation(scope, id)) as ConversationRow
    expect(row).toMatchObject({ first_event: 11, last_event: 28 })
    expect(() => readCursor(row, eventId(id, 9))).toThrow(expect.objectContaining({ code: 'cursor_expired' }))
    // Nothing is missing after the last one that is gone.
    expect(readCursor(row, eventId(id, 10))).toBe(10)
    expect(readCursor(row, null)).toBe(10)
    expect(await clean(scope, now + days(2), { limit: 10, retention })).toMatchObject({ isDone: true })
    expect(await counts(scope)).toEqual([0, 0, 0, 0, 0])
  })

  test('lose their old events where the company says so, but none that waits for a reply', async () => {
    const scope = await start()
    const { id } = await startConversation(scope)
    await answer(scope, id)
    for (let day = 1; day <= 5; day++) await say(scope, id, now + days(day))
    await answer(scope, id, now + days(5))
    const retention = { events: days(3) }
    expect((await clean(scope, now + days(30))).rows).toBe(0)
    await clean(scope, now + days(6), { limit: 2, retention })
    const row = (await findConversation(scope, id)) as ConversationRow
    expect(row).toMatchObject({ first_event: 5, last_event: 7, oldest_at: now + days(3) })
    expect(
      (await eventsAfter(scope, row, { after: row.first_event - 1, limit: 10 })).map(({ number }) => number),
    ).toEqual([5, 6, 7])
    // Whoever saw it before decides again.
    const stale = { ...row, version: row.version - 1 }
    const { timing } = at(scope, now).settings
    expect(await changeConversation(scope, { seen: stale, now, timing, set: {}, events: [] })).toBeNull()

    await say(scope, id, now + days(6))
    expect(await clean(scope, now + days(100), { retention })).toMatchObject({ isDone: true })
    expect(await findConversation(scope, id)).toMatchObject({ first_event: 8, last_event: 8 })
    await answer(scope, id, now + days(100))
    await clean(scope, now + days(200), { retention })
    expect(await findConversation(scope, id)).toMatchObject({ first_event: 9, last_event: 8 })
    expect((await say(scope, id, now + days(201)))?.oldest_at).toBe(now + days(201))
    // Its messages are still known when they come again.
    expect((await counts(scope))[2]).toBe(1)
  })

  test('are exported and erased with their Direct Conversations, open or closed, and nobody else’s', async () => {
    const scope = await start()
    const mine = await startConversation(scope, { text: 'canary in words', context: { note: 'canary in context' } })
    await annotate(scope, mine.id)
    await change(scope, mine.id, now, () => ({ set: { account: 'ada' }, events: [] }))
    const direct = await startConversation(scope, { text: 'canary in private' })
    await scope.db.query
      .updateTable('poppy_conversations')
      .set({ parent_id: mine.id })
      .where('id', '=', direct.id)
      .execute()
    await change(scope, mine.id, now, (row) => directOpened(row, direct.id))
    await insertSession(scope, sessionRow({ id: 'of ada', account: 'ada' }))
    const unused = await startConversation(scope, { by: caller({ sessionId: 'of ada', account: 'ada' }) })
    const other = await startConversation(scope)
    await insertSession(scope, sessionRow({ id: 'of bob', user_id: 'bob' }))
    const bobs = await startConversation(scope, { by: caller({ userId: 'bob', sessionId: 'of bob' }) })

    const shown = JSON.stringify((await exportPerson(scope, 'ada', { now: () => now })).conversations)
    for (const canary of ['in words', 'in context', 'in private']) expect(shown).toContain(`canary ${canary}`)
    for (const text of ['of a tool', 'asks often', `msg_${mine.id}`, unused.id]) expect(shown).toContain(text)
    for (const text of ['Rita', other.id, bobs.id]) expect(shown).not.toContain(text)

    const told: string[] = []
    const erased = await erasePerson(scope, 'ada', { now: () => now, told: (id) => void told.push(id) })
    expect(erased.conversations).toBe(3)
    expect(told.toSorted()).toEqual([mine.id, direct.id, unused.id].toSorted())
    expect(await counts(scope)).toEqual([2, 4, 2, 0, 0])
    // Whoever writes in it at that moment, a turn or an agent, finds it gone.
    expect(await say(scope, mine.id, now)).toBeUndefined()
    expect(
      await changeConversation(scope, { seen: mine, now, timing: at(scope, now).settings.timing, set: {}, events: [] }),
    ).toBeNull()

    const user = { clientId: 'https://agent.example/client', userId: 'user' }
    expect((await erasePerson(scope, user, { now: () => now })).conversations).toBe(1)
    expect(await findConversation(scope, bobs.id)).toEqual(bobs)
  })

  test('leave the record of what staff did when a person is erased, and nothing that is on its way or listens', async () => {
    const scope = await start()
    const { db } = scope
    const mine = await startConversation(scope)
    await change(scope, mine.id, now, () => ({ set: { account: 'ada' }, events: [] }))
    const other = await startConversation(scope)
    for (const conversation_id of [mine.id, other.id]) {
      await db.query
        .insertInto('poppy_audit')
        .values({
          ...{ company, id: conversation_id, at: now, staff_id: 'rita', staff_name: 'Rita', act: 'account_opened' },
          ...{ conversation_id, operation_id: null, detail: '{"grant":"g","epoch":0}' },
        })
        .execute()
      await db.query.insertInto('poppy_listeners').values({ company, conversation_id, ends_at: now }).execute()
    }
    await insertOperation(scope, {
      operation: operationRow({ id: 'opn_of_ada' }),
      revision: revisionRow({ operation_id: 'opn_of_ada' }),
      entry: { event: 'proposed', channel: 'http', who: {} },
    })
    const ofConversation = { conversation_id: mine.id, operation_id: null }
    const ofOperation = { conversation_id: null, operation_id: 'opn_of_ada' }
    const ofAnother = { conversation_id: other.id, operation_id: null }
    for (const [at, about] of [ofConversation, ofOperation, ofAnother].entries())
      await db.query
        .insertInto('poppy_deliveries')
        .values({
          ...{
            company,
            id: `delivery ${at}`,
            endpoint: 'https://desk.example/',
            event: 'message',
            body: '{"text":"of ada"}',
          },
          ...{ ...about, due_at: null, attempts: 9, created_at: now, given_up_at: now },
        })
        .execute()

    const shown = JSON.stringify(await exportPerson(scope, 'ada', { now: () => now }))
    expect(shown).not.toMatch(/Rita|rita|account_opened|delivery/)
    await erasePerson(scope, 'ada', { now: () => now })
    const left = async (table: 'poppy_deliveries' | 'poppy_listeners') =>
      (await db.query.selectFrom(table).select('conversation_id').execute()).map((row) => row.conversation_id)
    expect(await left('poppy_deliveries')).toEqual([other.id])
    expect(await left('poppy_listeners')).toEqual([other.id])
    const { entries } = await readAudit(scope, { staff: 'rita' })
    expect(entries.map(({ conversation }) => conversation).toSorted()).toEqual([mine.id, other.id].toSorted())
    expect(JSON.stringify(entries)).not.toMatch(/ada|agent\.example|"user/)
    // Not with the conversation either, when its time is over.
    await close(scope, other.id)
    await clean(scope, now + days(400), { retention: { audit: days(500) } })
    expect(await findConversation(scope, other.id)).toBeNull()
    expect((await readAudit(scope)).entries).toHaveLength(2)
  })

  test('of a person who is erased while they begin are begun before, and erased, or not at all', async () => {
    const { open } = await fresh()
    const scope = { db: await open(), company }
    const other = { db: await open(), company }
    await insertSession(scope, sessionRow({ account: 'ada' }))
    const by = caller({ account: 'ada' })
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 10 }, () => startConversation(scope, { by })),
      erasePerson(other, 'ada', { now: () => now }),
      ...Array.from({ length: 10 }, () => startConversation(scope, { by })),
    ])
    expect(outcomes[10]?.status).toBe('fulfilled')
    expect(await counts(scope)).toEqual([0, 0, 0, 0, 0])
  })
})
