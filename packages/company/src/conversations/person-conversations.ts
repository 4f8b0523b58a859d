import type { Person } from '../accounts/person-store.ts'
import type { Scope } from '../store/database.ts'
import type { ConversationsTable, EventsTable, NotesTable, ReceiptsTable, StepsTable } from '../store/tables.ts'
import { deleteConversations } from './retention.ts'

/** A person's conversations: read for them, or deleted for them. */

const columns = [
  'id',
  'client_id',
  'user_id',
  'account',
  'parent_id',
  'direct_id',
  'status',
  'responder',
  'context',
  'session_id',
  'caller_user_id',
  'caller_account',
  'grant_id',
  'scopes',
  'sender',
  'queued_at',
  'queue_reason',
  'created_at',
  'updated_at',
  'closed_at',
] as const satisfies readonly (keyof ConversationsTable)[]

/** The rows, each a column of the tables. Who of the staff had a conversation isn't in them: that is their own data. */
export interface PersonConversations {
  readonly conversations: readonly Pick<ConversationsTable, (typeof columns)[number]>[]
  readonly events: readonly Pick<EventsTable, 'conversation_id' | 'body'>[]
  readonly receipts: readonly Pick<ReceiptsTable, 'conversation_id' | 'message_id' | 'client_id' | 'user_id'>[]
  readonly steps: readonly Pick<StepsTable, 'conversation_id' | 'outcome' | 'created_at'>[]
  readonly notes: readonly Pick<NotesTable, 'conversation_id' | 'kind' | 'text' | 'data' | 'created_at'>[]
}

/** How many conversations one statement names at most. */
const bite = 500

/**
 * Which conversations are a person's: of a User, those that they or their agent for them wrote in; of an account, those that
 * used it, and those that one of its Sessions wrote in last. With each go its Direct Conversations, and the one before it.
 */
async function idsOf(scope: Scope, person: Person, isHeld = false): Promise<readonly string[]> {
  const { db, company } = scope
  const own = db.query
    .selectFrom('poppy_conversations')
    .select(['id', 'parent_id', 'direct_id'])
    .where('company', '=', company)
    .where((eb) => {
      if (typeof person !== 'string')
        return eb.and([
          eb('client_id', '=', person.clientId),
          eb.or([eb('user_id', '=', person.userId), eb('caller_user_id', '=', person.userId)]),
        ])
      const sessions = eb
        .selectFrom('poppy_sessions')
        .select('id')
        .where('company', '=', company)
        .where('account', '=', person)
      return eb.or([
        eb('account', '=', person),
        eb.and([
          eb('account', 'is', null),
          eb.or([eb('caller_account', '=', person), eb('session_id', 'in', sessions)]),
        ]),
      ])
    })
  const found = new Set<string>()
  let next: readonly Pick<ConversationsTable, 'id' | 'parent_id' | 'direct_id'>[] = await own.execute()
  while (next.length > 0) {
    for (const { id } of next) found.add(id)
    const named = next.flatMap(({ parent_id, direct_id }) => [parent_id ?? [], direct_id ?? []].flat())
    const more: Pick<ConversationsTable, 'id' | 'parent_id' | 'direct_id'>[] = []
    for (const ids of bites(next.map(({ id }) => id))) more.push(...(await related(scope, 'parent_id', ids)))
    for (const ids of bites(named.filter((id) => !found.has(id)))) more.push(...(await related(scope, 'id', ids)))
    next = more.filter(({ id }) => !found.has(id))
  }
  const ids = [...found].toSorted()
  if (isHeld && db.name === 'postgres')
    for (const some of bites(ids))
      await db.query
        .selectFrom('poppy_conversations')
        .select('id')
        .where('company', '=', company)
        .where('id', 'in', some)
        .orderBy('id')
        .forUpdate()
        .execute()
  return ids
}

function related({ db, company }: Scope, column: 'id' | 'parent_id', ids: readonly string[]) {
  return db.query
    .selectFrom('poppy_conversations')
    .select(['id', 'parent_id', 'direct_id'])
    .where('company', '=', company)
    .where(column, 'in', ids)
    .execute()
}

function bites(ids: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / bite) }, (_, at) => ids.slice(at * bite, (at + 1) * bite))
}

/** Reads them, inside a transaction. */
export async function readConversationsOf(scope: Scope, person: Person): Promise<PersonConversations> {
  const { db, company } = scope
  const all = { conversations: [], events: [], receipts: [], steps: [], notes: [] } as {
    -readonly [Name in keyof PersonConversations]: PersonConversations[Name][number][]
  }
  for (const ids of bites(await idsOf(scope, person))) {
    all.conversations.push(
      ...(await db.query
        .selectFrom('poppy_conversations')
        .select([...columns])
        .where('company', '=', company)
        .where('id', 'in', ids)
        .orderBy('created_at')
        .orderBy('id')
        .execute()),
    )
    all.events.push(
      ...(await db.query
        .selectFrom('poppy_events')
        .select(['conversation_id', 'body'])
        .where('company', '=', company)
        .where('conversation_id', 'in', ids)
        .orderBy('conversation_id')
        .orderBy('number')
        .execute()),
    )
    all.receipts.push(
      ...(await db.query
        .selectFrom('poppy_receipts')
        .select(['conversation_id', 'message_id', 'client_id', 'user_id'])
        .where('company', '=', company)
        .where('conversation_id', 'in', ids)
        .orderBy('conversation_id')
        .orderBy('event')
        .execute()),
    )
    all.steps.push(
      ...(await db.query
        .selectFrom('poppy_steps')
        .select(['conversation_id', 'outcome', 'created_at'])
        .where('company', '=', company)
        .where('conversation_id', 'in', ids)
        .orderBy('conversation_id')
        .orderBy('turn')
        .orderBy('step')
        .execute()),
    )
    all.notes.push(
      ...(await db.query
        .selectFrom('poppy_notes')
        .select(['conversation_id', 'kind', 'text', 'data', 'created_at'])
        .where('company', '=', company)
        .where('conversation_id', 'in', ids)
        .orderBy('conversation_id')
        .orderBy('number')
        .execute()),
    )
  }
  return all
}

/**
 * Deletes them with all that belongs to them, inside a transaction; also those that are open: whoever writes in one at this
 * moment finds it gone. Gives their ids.
 */
export async function deleteConversationsOf(scope: Scope, person: Person): Promise<readonly string[]> {
  // Held: what is written at this moment is written before, and deleted, or not at all.
  const ids = await idsOf(scope, person, true)
  for (const some of bites(ids)) await deleteConversations(scope, some)
  return ids
}

/** A conversation of a person's, for their export. Times are milliseconds since 1970. */
export interface PersonConversation {
  readonly conversationId: string
  readonly clientId: string
  readonly userId: string
  readonly account: string | null
  /** The conversation before it, for a Direct Conversation (7.10), and the Direct Conversation that is open beside it. */
  readonly parentId: string | null
  readonly directId: string | null
  readonly status: string
  readonly responder: string
  /** What the Personal Agent shared of the User's situation (7.4). */
  readonly context: unknown
  /** With what the last message came. */
  readonly lastCaller: {
    readonly sessionId: string
    readonly userId: string
    readonly account: string | null
    readonly signIn: string | null
    readonly scopes: string
    readonly sender: string
  }
  readonly queuedAt: number | null
  readonly queueReason: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly closedAt: number | null
  /** All that was said and happened, as the Personal Agent reads it (7.5). */
  readonly events: readonly unknown[]
  /** Messages that were accepted, by the ids that the Personal Agent gave them (7.3). */
  readonly messages: readonly { readonly messageId: string; readonly clientId: string; readonly userId: string }[]
  /** What tools answered the Company Agent, as far as that is kept. */
  readonly toolOutcomes: readonly { readonly outcome: unknown; readonly createdAt: number }[]
  /** What the company noted of it. */
  readonly notes: readonly {
    readonly kind: string
    readonly text: string
    readonly data: unknown
    readonly createdAt: number
  }[]
}

/** Puts the rows together. */
export function exportConversations(rows: PersonConversations): readonly PersonConversation[] {
  const byId = <Row extends { readonly conversation_id: string }>(all: readonly Row[]) =>
    Map.groupBy(all, ({ conversation_id }) => conversation_id)
  const events = byId(rows.events)
  const receipts = byId(rows.receipts)
  const steps = byId(rows.steps)
  const notes = byId(rows.notes)
  return rows.conversations.map((row) => ({
    conversationId: row.id,
    clientId: row.client_id,
    userId: row.user_id,
    account: row.account,
    parentId: row.parent_id,
    directId: row.direct_id,
    status: row.status,
    responder: row.responder,
    context: parse(row.context),
    lastCaller: {
      sessionId: row.session_id,
      userId: row.caller_user_id,
      account: row.caller_account,
      signIn: row.grant_id,
      scopes: row.scopes,
      sender: row.sender,
    },
    queuedAt: row.queued_at,
    queueReason: row.queue_reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    closedAt: row.closed_at,
    events: (events.get(row.id) ?? []).map(({ body }) => parse(body)),
    messages: (receipts.get(row.id) ?? []).map((one) => ({
      messageId: one.message_id,
      clientId: one.client_id,
      userId: one.user_id,
    })),
    toolOutcomes: (steps.get(row.id) ?? []).map((one) => ({
      outcome: parse(one.outcome),
      createdAt: one.created_at,
    })),
    notes: (notes.get(row.id) ?? []).map((one) => ({
      kind: one.kind,
      text: one.text,
      data: parse(one.data),
      createdAt: one.created_at,
    })),
  }))
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}
