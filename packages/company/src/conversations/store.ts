import type { Scope } from '../store/database.ts'
import { gathered } from '../store/gather.ts'
import { statement } from '../store/statement.ts'
import type { ReceiptsTable } from '../store/tables.ts'
import { type ConversationRow, conversationColumns, type NewEvent } from './row.ts'

/** Conversations: what is read of them. They are written by the ledger alone. */

const columnsOf = (table: string) => conversationColumns.map((column) => `${table}.${column}`).join(', ')

const findText = `select ${columnsOf('c')} from poppy_conversations c where c.company = :company and c.id = :id`
const find = statement<{ readonly id: string }, ConversationRow>({ sqlite: findText, postgres: findText })

const findMany = statement<{ readonly ids: readonly string[] }, ConversationRow>({
  sqlite: 'select :company',
  // One by one, by their key: on a table that grows faster than its statistics the planner would rather read all of it.
  postgres: `select ${columnsOf('found')} from unnest(cast(:ids as text[])) as asked (asked_id),
    lateral (select * from poppy_conversations where company = :company and id = asked_id limit 1) as found`,
})
const findAmongOthers = gathered<{ readonly id: string }, ConversationRow | null>({
  alone: async (scope, { id }) => (await find(scope, { id }))[0] ?? null,
  async together(scope, items) {
    const rows = await findMany(scope, { ids: items.map(({ id }) => id) })
    return new Map(rows.map((row) => [row.id, row]))
  },
})

/** A conversation's row, or null. */
export async function findConversation(scope: Scope, id: string): Promise<ConversationRow | null> {
  return findAmongOthers(scope, { id })
}

/** Holds a conversation's row for the rest of a transaction. */
export async function holdConversation({ db, company }: Scope, id: string): Promise<void> {
  await db.query
    .selectFrom('poppy_conversations')
    .select('id')
    .where('company', '=', company)
    .where('id', '=', id)
    .$if(db.name === 'postgres', (query) => query.forUpdate())
    .execute()
}

/** An event as it is kept. */
export interface StoredEvent {
  readonly number: number
  /** The event's JSON, as it travels. */
  readonly body: string
  /** Whether it ends a wait (7.5): all but the Personal Agent's own messages, and the `working` that they cause. */
  readonly isNews: boolean
}

/** Whether an event ends a wait, by its type as it is kept. */
export const isNews = (type: string): boolean => !type.endsWith('.own')

const eventsText = `select number, body, type from poppy_events
  where company = :company and conversation_id = :id and number > :after and number <= :until
  order by number limit :limit`
const events = statement<
  { readonly id: string; readonly after: number; readonly until: number; readonly limit: number },
  { readonly number: number; readonly body: string; readonly type: string }
>({ sqlite: eventsText, postgres: eventsText })

/** Events after a number, in order, up to the newest that its row tells of; one more is asked for where that matters. */
export async function eventsAfter(
  scope: Scope,
  row: Pick<ConversationRow, 'id' | 'last_event'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly StoredEvent[]> {
  if (after >= row.last_event) return []
  const rows = await events(scope, { id: row.id, after, until: row.last_event, limit })
  return rows.map(({ number, body, type }) => ({ number, body, isNews: isNews(type) }))
}

/** A message that was accepted before. */
export type Receipt = Omit<ReceiptsTable, 'company'>

const receiptText = `select client_id, user_id, message_id, conversation_id, digest, code, status, responder, event
  from poppy_receipts
  where company = :company and client_id = :clientId and user_id = :userId and message_id = :messageId`
const receipts = statement<{ readonly clientId: string; readonly userId: string; readonly messageId: string }, Receipt>(
  { sqlite: receiptText, postgres: receiptText },
)

/** The receipt of a message of a User, or null (7.3). */
export async function findReceipt(
  scope: Scope,
  message: { readonly clientId: string; readonly userId: string; readonly messageId: string },
): Promise<Receipt | null> {
  return (await receipts(scope, message))[0] ?? null
}

/** Whether an event of these, which are written once for something, is written. */
export async function areWritten({ db, company }: Scope, id: string, planned: readonly NewEvent[]): Promise<boolean> {
  const keys = planned.flatMap(({ writtenFor }) => writtenFor ?? [])
  if (keys.length === 0) return false
  const found = await db.query
    .selectFrom('poppy_events')
    .select('number')
    .where('company', '=', company)
    .where('conversation_id', '=', id)
    .where('written_for', 'in', keys)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

const openText = `select count(*) as open from (select 1 from poppy_conversations
  where company = :company and client_id = :clientId and user_id = :userId and status <> 'closed' limit :most) as open_ones`
const open = statement<
  { readonly clientId: string; readonly userId: string; readonly most: number },
  { readonly open: number }
>({ sqlite: openText, postgres: openText })

/** How many conversations a User has open through an agent, counted up to `most`. */
export async function countOpen(
  scope: Scope,
  { clientId, userId, most }: { readonly clientId: string; readonly userId: string; readonly most: number },
): Promise<number> {
  return Number((await open(scope, { clientId, userId, most }))[0]?.open ?? 0)
}
