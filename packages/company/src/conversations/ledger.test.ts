import { conversationEventSchema } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import {
  caller,
  conversationParts,
  message,
  receipt,
  startConversation,
} from '../../../../test/setup/conversation-parts.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { insertSession } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import { standardTiming as timing } from './care.ts'
import { accepted, closed, directOpened, emptyConversation, mostEvents, turnEnded } from './conversation.ts'
import { eventId } from './cursor.ts'
import { changeConversation, insertConversation, withConversation } from './ledger.ts'
import type { ConversationRow, NewEvent } from './row.ts'
import { eventsAfter, findConversation, findReceipt } from './store.ts'

/** The ledger: what one change writes, and what two changes at once leave. */

const company = 'https://miramar.example'
const said = (text: string, more: { readonly writtenFor?: string } = {}): NewEvent => ({
  type: 'message',
  message: { id: 'msg_c', role: 'company', sender: 'agent', text },
  ...more,
})

describe.each(stores)('The ledger in $name', { timeout: 60_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing !== null)
  async function begin(count = 1): Promise<readonly Scope[]> {
    const { open } = await fresh()
    const scopes: Scope[] = []
    for (let n = 0; n < count; n++) scopes.push({ db: await open(), company })
    await insertSession(scopes[0] as Scope, sessionRow())
    return scopes
  }
  const start = async (): Promise<Scope> => (await begin())[0] as Scope
  const all = async (scope: Scope, row: ConversationRow) =>
    (await eventsAfter(scope, row, { after: 0, limit: 1000 })).map(({ body }) => JSON.parse(body) as unknown)

  test('a first message begins a conversation: its row, its events in order, its receipt', async () => {
    const scope = await start()
    const row = await startConversation(scope, { id: 'cnv_1', context: { locale: 'de-DE' } })
    expect(await findConversation(scope, row.id)).toEqual(row)
    expect(row).toMatchObject({ status: 'working', responder: 'agent', version: 1, last_event: 2, asked: 1 })
    expect(row).toMatchObject({ turn_due_at: now, context: '{"locale":"de-DE"}', session_id: 's', account: null })
    const events = await all(scope, row)
    expect(events).toMatchObject([
      { id: eventId('cnv_1', 1), type: 'message', message: { role: 'user', sender: 'agent' } },
      { id: eventId('cnv_1', 2), type: 'state', status: 'working', responder: 'agent' },
    ])
    for (const event of events) expect(conversationEventSchema.parse(event)).toEqual(event)
    const kept = { clientId: 'https://agent.example/client', userId: 'user', messageId: 'msg_cnv_1' }
    expect(await findReceipt(scope, kept)).toMatchObject({
      conversation_id: 'cnv_1',
      code: 201,
      status: 'working',
      event: 1,
    })
    expect(await findReceipt({ ...scope, company: 'https://other.example' }, kept)).toBeNull()
    expect(await findConversation({ ...scope, company: 'https://other.example' }, 'cnv_1')).toBeNull()
  })

  test('of two changes of what both saw, one is made, and nothing of the other', async () => {
    const scope = await start()
    const seen = await startConversation(scope)
    const made = await Promise.all(
      ['a', 'b'].map((id) =>
        changeConversation(scope, {
          seen,
          now: now + 1,
          timing,
          ...accepted(seen, { message: message({ id }), caller: caller(), now }),
          receipt: receipt({ messageId: id, code: 202 }),
        }),
      ),
    )
    expect(made.filter((one) => one !== null)).toHaveLength(1)
    const row = await findConversation(scope, seen.id)
    expect(row).toEqual(made.find((one) => one !== null))
    // It was working already, so there is no other state.
    expect(await all(scope, row as ConversationRow)).toHaveLength(3)
    const receipts = await Promise.all(['a', 'b'].map((messageId) => findReceipt(scope, receipt({ messageId }))))
    expect(receipts.filter((one) => one !== null)).toHaveLength(1)
  })

  test('many that write at once through two instances leave each event once, numbered without a gap', async () => {
    const scopes = await begin(2)
    const seen = await startConversation(scopes[0] as Scope)
    const instances = scopes.map((scope) => conversationParts(scope).parts)
    const ids = Array.from({ length: 30 }, (_, n) => `m${n}`)
    await Promise.all(
      ids.map((id, n) =>
        withConversation(instances[n % 2] as (typeof instances)[0], seen.id, (row) => ({
          ...accepted(row, { message: message({ id }), caller: caller(), now }),
          receipt: receipt({ messageId: id, code: 202 }),
        })),
      ),
    )
    const row = (await findConversation(scopes[1] as Scope, seen.id)) as ConversationRow
    expect(row).toMatchObject({ version: 31, last_event: 32 })
    const events = await eventsAfter(scopes[1] as Scope, row, { after: 0, limit: 100 })
    expect(events.map(({ number }) => number)).toEqual(Array.from({ length: 32 }, (_, n) => n + 1))
    const written = events.map(({ body }) => (JSON.parse(body) as { message?: { id: string } }).message?.id)
    expect(written.filter((id) => id?.startsWith('m') && !id.startsWith('msg')).toSorted()).toEqual(ids.toSorted())
  })

  test('the same message at once in two conversations is kept in one; in one conversation, once', async () => {
    const [here, there] = (await begin(2)) as [Scope, Scope]
    const first = await startConversation(here)
    const second = await startConversation(here)
    const accept = (scope: Scope, id: string) =>
      withConversation(conversationParts(scope).parts, id, (row) => ({
        ...accepted(row, { message: message({ id: 'twice' }), caller: caller(), now }),
        receipt: receipt({ messageId: 'twice', code: 202 }),
      }))
    const made = await Promise.all([
      accept(here, first.id),
      accept(there, second.id),
      accept(there, first.id),
      accept(here, second.id),
    ])
    expect(made.filter((one) => one?.isChanged)).toHaveLength(1)
    const rows = await Promise.all([first, second].map(({ id }) => findConversation(here, id)))
    expect(rows.map((row) => row?.last_event).toSorted()).toEqual([2, 3])
  })

  test('a first message at once through two instances begins one conversation', async () => {
    const scopes = await begin(2)
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => {
        const seen = emptyConversation(`cnv_${n}`, { caller: caller(), now })
        const decided = accepted(seen, { message: message(), caller: caller(), now })
        return insertConversation(scopes[n % 2] as Scope, { seen, now, timing, ...decided, receipt: receipt() })
      }),
    )
    expect(outcomes.filter(({ kept }) => kept !== null)).toHaveLength(1)
    expect(outcomes.filter((one) => one.kept === null && one.because === 'taken')).toHaveLength(7)
    const { db } = scopes[0] as Scope
    expect(await db.query.selectFrom('poppy_conversations').select('id').execute()).toHaveLength(1)
    expect(await db.query.selectFrom('poppy_events').select('number').execute()).toHaveLength(2)
  })

  test('a first message of a Session that is gone begins nothing', async () => {
    const scope = await start()
    const by = caller({ sessionId: 'gone' })
    const seen = emptyConversation('cnv_1', { caller: by, now })
    const decided = accepted(seen, { message: message(), caller: by, now })
    const outcome = await insertConversation(scope, { seen, now, timing, ...decided, receipt: receipt() })
    expect(outcome).toEqual({ kept: null, because: 'gone' })
    expect(await findReceipt(scope, receipt())).toBeNull()
  })

  test('what is written once for something is not written again', async () => {
    const scope = await start()
    const { parts } = conversationParts(scope)
    const { id } = await startConversation(scope)
    const say = (text: string) =>
      withConversation(parts, id, () => ({ set: {}, events: [said(text, { writtenFor: 'turn:1:1' })] }))
    expect(await say('Yes.')).toMatchObject({ isChanged: true, row: { last_event: 3 } })
    expect(await say('Yes, again.')).toMatchObject({ isChanged: false, row: { last_event: 3 } })
    const row = (await findConversation(scope, id)) as ConversationRow
    expect(await all(scope, row)).toMatchObject([{}, {}, { message: { text: 'Yes.' } }])
  })

  test('a change that tells nothing raises the version and nothing else', async () => {
    const scope = await start()
    const { parts } = conversationParts(scope)
    const { id } = await startConversation(scope)
    const settled = await withConversation(parts, id, () => ({ set: { held_by: 'rita' }, events: [] }))
    expect(settled?.row).toMatchObject({ version: 2, last_event: 2, held_by: 'rita' })
    expect(await findConversation(scope, id)).toEqual(settled?.row)
    expect(await withConversation(parts, 'cnv_none', () => ({ set: {}, events: [] }))).toBeNull()
    expect(await withConversation(parts, id, () => null)).toMatchObject({ isChanged: false })
  })

  test('after a change whoever waits is told, and a turn that is due is begun', async () => {
    const scope = await start()
    const { parts, begun } = conversationParts(scope)
    const { id } = await startConversation(scope)
    const watch = parts.changes.watch(id)
    await withConversation(parts, id, (row) => turnEnded(row, { answered: 1, now }))
    await watch.within(60_000, new AbortController().signal)
    expect(begun).toEqual([])
    await withConversation(parts, id, (row) => accepted(row, { message: message({ id: 'm' }), caller: caller(), now }))
    expect(begun).toEqual([id])
  })

  test('a conversation that is as long as one can be takes no more messages, and still closes', async () => {
    const scope = await start()
    const { parts } = conversationParts(scope)
    const { id } = await startConversation(scope)
    await scope.db.query.deleteFrom('poppy_events').where('company', '=', company).execute()
    await scope.db.query
      .updateTable('poppy_conversations')
      .set({ last_event: mostEvents, first_event: mostEvents + 1 })
      .where('id', '=', id)
      .execute()
    const say = withConversation(parts, id, (row) =>
      accepted(row, { message: message({ id: 'm' }), caller: caller(), now }),
    )
    await expect(say).rejects.toMatchObject({ code: 'conversation_closed' })
    expect(await withConversation(parts, id, (row) => closed(row, now))).toMatchObject({ row: { status: 'closed' } })
  })

  test('text that databases dislike is kept as it was', async () => {
    const scope = await start()
    const text = 'NUL \u0000, half a pair \ud800, :company and ? and $1, "quoted", \u2028'
    const data = { '\u0000': [1e21, -0.5, '\udfff'] }
    const row = await startConversation(scope, { text, data, context: { note: '\u0000' } })
    expect((await all(scope, row))[0]).toMatchObject({ message: { text, data } })
    expect(await findConversation(scope, row.id)).toEqual(row)
  })

  test('the end of a turn, closing and a Direct Conversation each tell what they change', async () => {
    const scope = await start()
    const { parts } = conversationParts(scope)
    const { id } = await startConversation(scope)
    await withConversation(parts, id, (row) => turnEnded(row, { answered: row.asked, now, events: [said('Yes.')] }))
    await withConversation(parts, id, (row) => directOpened(row, 'cnv_direct'))
    const last = await withConversation(parts, id, (row) => closed(row, now))
    expect(await withConversation(parts, id, (row) => closed(row, now))).toMatchObject({ isChanged: false })
    expect(last?.row).toMatchObject({ status: 'closed', responder: 'agent', direct_id: null, turn_due_at: null })
    expect(await all(scope, last?.row as ConversationRow)).toMatchObject([
      { type: 'message', message: { role: 'user' } },
      { type: 'state', status: 'working' },
      { type: 'message', message: { role: 'company' } },
      { type: 'state', status: 'idle', responder: 'agent' },
      { type: 'direct_opened', conversation_id: 'cnv_direct' },
      { type: 'direct_closed', conversation_id: 'cnv_direct' },
      { type: 'state', status: 'closed', responder: 'agent' },
    ])
  })
})
