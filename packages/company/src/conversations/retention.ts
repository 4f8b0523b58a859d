import { isPlain } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { Scope } from '../store/database.ts'
import type { ConversationRow } from './row.ts'

/** How long conversations are kept once they are closed, and their events (7.5), and how they go then. */

/** How long, in milliseconds. */
export interface ConversationRetention {
  /** From its end, a conversation, with all that belongs to it. */
  readonly conversations: number
  /** From when it was written, an event, in open conversations too; null: as long as its conversation. */
  readonly events: number | null
  /** From when it was written, the record of what staff did. It stays when the conversation goes. */
  readonly audit: number
}

const day = 86_400_000

/** What is kept where the company doesn't say: conversations for a year, with all of their events, and what staff did. */
export const standardConversationRetention: ConversationRetention = {
  conversations: 365 * day,
  events: null,
  audit: 365 * day,
}

/** The settings for {@link ConversationRetention}, in days. */
export interface ConversationRetentionSettings {
  readonly conversations?: number
  readonly events?: number
  readonly audit?: number
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkConversationRetention(retention: unknown): ConversationRetention {
  if (!isPlain(retention)) return standardConversationRetention
  const days = (name: keyof ConversationRetentionSettings): number | undefined => {
    const value = retention[name]
    if (value === undefined) return undefined
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 36_600)
      throw wrong(`\`retention.${name}\` is a whole number of days, at least 1, such as 365.`)
    return value * day
  }
  return {
    conversations: days('conversations') ?? standardConversationRetention.conversations,
    events: days('events') ?? standardConversationRetention.events,
    audit: days('audit') ?? standardConversationRetention.audit,
  }
}

/** When the oldest event was written in a conversation that has none: never. */
const never = Number.MAX_SAFE_INTEGER

/** Rows that a conversation has about, beside its events. */
const rowsOfOne = 8

interface Bite {
  readonly now: number
  /** Rows, about. */
  readonly limit: number
  readonly retention: ConversationRetention
}

interface Deleted {
  readonly numDeletedRows: bigint
  readonly hasMore: boolean
}

type Extent = Pick<ConversationRow, 'id' | 'first_event' | 'last_event'>

/** Deletes conversations that are closed long enough, with all that belongs to them; a long one bit by bit. */
export async function deleteOverConversations(scope: Scope, { now, limit, retention }: Bite): Promise<Deleted> {
  const { db, company } = scope
  return db.transaction(async () => {
    const over = await db.query
      .selectFrom('poppy_conversations')
      .select(['id', 'first_event', 'last_event'])
      .where('company', '=', company)
      .where('closed_at', '<', now - retention.conversations)
      .orderBy('closed_at')
      .limit(Math.ceil(limit / rowsOfOne))
      .$if(db.name === 'postgres', (query) => query.forUpdate().skipLocked())
      .execute()
    const whole = takeWhile(over, limit)
    const [first] = over
    if (first === undefined) return { numDeletedRows: 0n, hasMore: false }
    const rows =
      whole.length > 0
        ? await deleteConversations(
            scope,
            whole.map(({ id }) => id),
          )
        : await forgetEvents(scope, first, { until: first.first_event + limit - 1 })
    return { numDeletedRows: BigInt(rows), hasMore: true }
  })
}

/** Those whose events together are no more than a bite. */
function takeWhile(over: readonly Extent[], limit: number): readonly Extent[] {
  let events = 0
  const last = over.findIndex(({ first_event, last_event }) => {
    events += last_event - first_event + 1
    return events > limit
  })
  return last === -1 ? over : over.slice(0, last)
}

/** Deletes events that were written long enough ago; what waits for a reply stays. */
export async function deleteOldEvents(scope: Scope, { now, limit, retention }: Bite): Promise<Deleted> {
  const { db, company } = scope
  const keep = retention.events
  if (keep === null) return { numDeletedRows: 0n, hasMore: false }
  return db.transaction(async () => {
    const old = await db.query
      .selectFrom('poppy_conversations')
      .select(['id', 'first_event', 'last_event', 'asked', 'answered'])
      .where('company', '=', company)
      .where('oldest_at', '<', now - keep)
      .orderBy('oldest_at')
      .limit(1)
      .$if(db.name === 'postgres', (query) => query.forUpdate().skipLocked())
      .executeTakeFirst()
    if (old === undefined) return { numDeletedRows: 0n, hasMore: false }
    const oldest = await db.query
      .selectFrom('poppy_events')
      .select((eb) => eb.fn.max('number').as('number'))
      .where('company', '=', company)
      .where('conversation_id', '=', old.id)
      .where('number', '<', old.first_event + limit)
      .where('created_at', '<', now - keep)
      .executeTakeFirst()
    const unanswered = old.asked > old.answered ? old.answered + 1 : old.last_event + 1
    const until = Math.min(Number(oldest?.number ?? 0), unanswered - 1)
    const isStuck = until < old.first_event
    const rows = await forgetEvents(scope, old, {
      until: isStuck ? old.first_event - 1 : until,
      ...(isStuck ? { again: now } : {}),
    })
    return { numDeletedRows: BigInt(rows), hasMore: !isStuck }
  })
}

/**
 * Deletes a conversation's events up to a number, inside a transaction that holds its row. Raises its version: whoever has
 * seen it before decides again.
 * @param again when the oldest is taken to have been written, where it has to stay; left out, that is looked up
 */
async function forgetEvents(
  { db, company }: Scope,
  { id, first_event }: Extent,
  { until, again }: { readonly until: number; readonly again?: number },
): Promise<number> {
  const { numDeletedRows } = await db.query
    .deleteFrom('poppy_events')
    .where('company', '=', company)
    .where('conversation_id', '=', id)
    .where('number', '<=', until)
    .executeTakeFirstOrThrow()
  const oldest = await db.query
    .selectFrom('poppy_events')
    .select('created_at')
    .where('company', '=', company)
    .where('conversation_id', '=', id)
    .orderBy('number')
    .limit(1)
    .executeTakeFirst()
  await db.query
    .updateTable('poppy_conversations')
    .set((eb) => ({
      first_event: Math.max(first_event, until + 1),
      oldest_at: again ?? oldest?.created_at ?? never,
      version: eb('version', '+', 1),
    }))
    .where('company', '=', company)
    .where('id', '=', id)
    .execute()
  return Number(numDeletedRows)
}

/** Deletes conversations with all that belongs to them, inside a transaction that holds their rows; gives how many rows. */
export async function deleteConversations({ db, company }: Scope, ids: readonly string[]): Promise<number> {
  let rows = 0
  for (const table of [
    'poppy_events',
    'poppy_receipts',
    'poppy_steps',
    'poppy_notes',
    'poppy_deliveries',
    'poppy_listeners',
  ] as const) {
    const { numDeletedRows } = await db.query
      .deleteFrom(table)
      .where('company', '=', company)
      .where('conversation_id', 'in', ids)
      .executeTakeFirstOrThrow()
    rows += Number(numDeletedRows)
  }
  const { numDeletedRows } = await db.query
    .deleteFrom('poppy_conversations')
    .where('company', '=', company)
    .where('id', 'in', ids)
    .executeTakeFirstOrThrow()
  return rows + Number(numDeletedRows)
}
