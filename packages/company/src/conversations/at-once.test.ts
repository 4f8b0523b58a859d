import { describe, expect, it } from 'vitest'
import { caller, message, receipt, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { insertSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import { standardTiming as timing } from './care.ts'
import { accepted, closed, turnEnded } from './conversation.ts'
import { changeConversation } from './ledger.ts'
import type { ConversationRow, NewEvent } from './row.ts'
import { findConversation } from './store.ts'

/** What is written and read of many conversations at the same moment, which on PostgreSQL is done together. */

const company = 'https://miramar.example'

describe.each(stores)('Conversations at the same moment, $name', { timeout: 60_000 }, ({ name, missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  const onPostgres = it.skipIf(missing !== null || name !== 'postgres')
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `cnv_${index}`)
  async function begin(scope: Scope, count: number): Promise<readonly ConversationRow[]> {
    await insertSession(scope, sessionRow())
    const rows: ConversationRow[] = []
    for (const id of ids(count)) rows.push(await startConversation(scope, { id }))
    return rows
  }
  const accept = (scope: Scope, seen: ConversationRow, text = 'And dinner?', id = `more_${seen.id}`) =>
    changeConversation(scope, {
      ...accepted(seen, { message: message({ id, text }), caller: caller(), now: now + 1 }),
      ...{ seen, timing, now: now + 1, receipt: receipt({ messageId: id, code: 202 }) },
    })
  const end = (scope: Scope, seen: ConversationRow, text: string) => {
    const said: NewEvent = {
      type: 'message',
      message: { id: `msg_of_${seen.id}`, role: 'company', sender: 'agent', text },
      writtenFor: 'turn:1:1',
    }
    const decided = turnEnded(seen, { answered: seen.asked, now: now + 2, events: [said] })
    return changeConversation(scope, { ...decided, seen, timing, now: now + 2 })
  }
  const close = async (scope: Scope, seen: ConversationRow) => {
    const decided = closed(seen, now + 3)
    return decided === null ? null : changeConversation(scope, { ...decided, seen, timing, now: now + 3 })
  }
  const everything = ({ db }: Scope, of: string) =>
    Promise.all(
      (['poppy_conversations', 'poppy_events', 'poppy_receipts'] as const).map(async (table) => {
        const rows: readonly object[] = await db.query.selectFrom(table).selectAll().where('company', '=', of).execute()
        return rows.map((row) => JSON.stringify({ ...row, company: null })).sort()
      }),
    )

  test('writes to the letter what it writes one after the other, and nothing of another Company', async () => {
    const db = await (await fresh()).open()
    const [byTurns, atOnce, untouched] = ['turns', 'once', 'other'].map((host) => ({
      db,
      company: `https://${host}.example`,
    })) as [Scope, Scope, Scope]
    const rows: ConversationRow[][] = []
    for (const scope of [byTurns, atOnce, untouched]) rows.push([...(await begin(scope, 12))])
    const before = await everything(untouched, untouched.company)
    const steps: readonly ((scope: Scope, row: ConversationRow, at: number) => Promise<ConversationRow | null>)[] = [
      (scope, row, at) => accept(scope, row, `"${at}" é \u0000 \ud800`),
      (scope, row, at) => (at % 2 === 0 ? end(scope, row, `It is ${at}.`) : accept(scope, row, 'No?', `again_${at}`)),
      // What is written for a turn is written once.
      async (scope, row, at) => (at < 4 ? end(scope, row, 'It is something else.') : null),
      (scope, row) => close(scope, row),
    ]
    const [ofTurns = [], ofOnce = []] = rows
    for (const step of steps) {
      const one: (ConversationRow | null)[] = []
      for (const [at, row] of ofTurns.entries()) one.push(await step(byTurns, row, at))
      const all = await Promise.all(ofOnce.map((row, at) => step(atOnce, row, at)))
      expect(all).toEqual(one)
      for (const [at, row] of one.entries()) if (row !== null) ofTurns[at] = ofOnce[at] = row
    }
    expect(ofTurns.map(({ status }) => status)).toEqual(ids(12).map(() => 'closed'))
    expect(await everything(atOnce, atOnce.company)).toEqual(await everything(byTurns, byTurns.company))
    expect(await everything(untouched, untouched.company)).toEqual(before)
    expect(await Promise.all(ids(12).map((id) => findConversation(atOnce, id)))).toEqual(ofOnce)
  })

  onPostgres('takes one statement for what is asked of it', async () => {
    const seen: string[] = []
    const scope = { db: await (await fresh()).open({ onQuery: (sql) => seen.push(sql) }), company }
    await begin(scope, 40)
    seen.length = 0
    const found = await Promise.all(ids(40).map((id) => findConversation(scope, id)))
    const written = await Promise.all(found.map((row) => accept(scope, row as ConversationRow)))
    expect(written).not.toContain(null)
    expect(seen).toHaveLength(2)
  })

  test('makes one change of several of what was seen, also of two instances and of one that asks twice', async () => {
    const store = await fresh()
    const [one, other] = [
      { db: await store.open(), company },
      { db: await store.open(), company },
    ]
    const rows = await begin(one, 30)
    const made = await Promise.all([
      ...rows.map((row) => accept(one, row, '1', `one_${row.id}`)),
      ...rows.toReversed().map((row) => accept(other, row, '2', `other_${row.id}`)),
      ...rows.map((row) => accept(one, row, '3', `twice_${row.id}`)),
    ])
    expect(made.filter((row) => row !== null)).toHaveLength(rows.length)
    const [conversations, events, receipts] = await everything(one, company)
    expect(conversations?.every((row) => row.includes('"version":2,"last_event":3'))).toBe(true)
    expect([events?.length, receipts?.length]).toEqual([90, 60])
  })

  test('leaves out who saw something old, whose message is known, and who is not there', async () => {
    const scope = { db: await (await fresh()).open(), company }
    const [stale, known, gone, ...others] = (await begin(scope, 8)) as [
      ConversationRow,
      ConversationRow,
      ConversationRow,
      ...ConversationRow[],
    ]
    const current = await accept(scope, stale, 'Now', 'now')
    const made = await Promise.all([
      accept(scope, stale),
      accept(scope, known, 'Now', 'now'),
      accept(scope, { ...gone, id: 'cnv_gone' }),
      ...others.map((row) => accept(scope, row)),
    ])
    expect(made.map((row) => row?.version ?? null)).toEqual([null, null, null, ...others.map(() => 2)])
    const kept = [stale, known, gone].map(({ id }) => findConversation(scope, id))
    expect(await Promise.all([...kept, findConversation(scope, 'cnv_gone')])).toEqual([current, known, gone, null])
  })

  test('leaves what is done inside a transaction to that', async () => {
    const scope = { db: await (await fresh()).open(), company }
    const [inside, ...others] = (await begin(scope, 4)) as [ConversationRow, ...ConversationRow[]]
    const undone = scope.db.transaction(async () => {
      const made = await accept(scope, inside)
      expect(await findConversation(scope, inside.id)).toEqual(made)
      throw new Error('undone')
    })
    const [ended, ...beside] = await Promise.allSettled([undone, ...others.map((row) => accept(scope, row))])
    expect(ended).toMatchObject({ status: 'rejected', reason: { message: 'undone' } })
    expect(beside).toMatchObject(others.map(({ id }) => ({ status: 'fulfilled', value: { id, version: 2 } })))
    expect(await findConversation(scope, inside.id)).toEqual(inside)
  })

  onPostgres('waits for a row that somebody holds with that one alone', async () => {
    const store = await fresh()
    const [scope, other] = [
      { db: await store.open(), company },
      { db: await store.open(), company },
    ]
    const [held, ...others] = (await begin(scope, 6)) as [ConversationRow, ...ConversationRow[]]
    const [isHeld, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = other.db.transaction(async () => {
      await other.db.query
        .selectFrom('poppy_conversations')
        .select('id')
        .where('id', '=', held.id)
        .forUpdate()
        .execute()
      isHeld.resolve()
      await gate.promise
    })
    await isHeld.promise
    let isOver = false
    const waiting = accept(scope, held).finally(() => {
      isOver = true
    })
    expect(await Promise.all(others.map((row) => accept(scope, row)))).not.toContain(null)
    expect(isOver).toBe(false)
    gate.resolve()
    await holding
    expect(await waiting).toMatchObject({ id: held.id, version: 2 })
  })
})
