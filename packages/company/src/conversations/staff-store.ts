import type { ConversationStatus } from '@poppyseed/protocol'
import { sql } from 'kysely'
import type { Scope } from '../store/database.ts'
import { pageSize } from '../store/page-size.ts'
import { type ConversationRow, conversationColumns } from './row.ts'

/**
 * Which conversations there are, for the company's own people. Each list is read along an index that has it in its order, so
 * what it takes doesn't grow with what it leaves out: an index that leaves rows out is used only where the query says the same
 * in the same words, and not in a parameter.
 */

const read = ({ db, company }: Scope) =>
  db.query
    .selectFrom('poppy_conversations')
    .select([...conversationColumns])
    .where('company', '=', company)

/** The first rows of a query. */
async function firstOf(query: ReturnType<typeof read>, limit: number): Promise<readonly ConversationRow[]> {
  return (await query.limit(pageSize(limit)).execute()).slice(0, limit)
}

/** Where a page ends: the time that its list goes by, and the id, of its last one. */
export interface Place {
  readonly at: number
  readonly id: string
}

/** A piece of a list. */
export interface Piece {
  /** Goes on after this one. */
  readonly after?: Place | undefined
  readonly limit: number
}

/** The literal text of a status, as the index has it. */
const status = <Status extends ConversationStatus>(name: Status) => sql.lit(name)

/** Those that wait for a person, whoever waits longest first. */
export async function waitingConversations(scope: Scope, { after, limit }: Piece): Promise<readonly ConversationRow[]> {
  let query = read(scope).where('status', '=', status('queued')).where('queued_at', 'is not', null)
  if (after !== undefined)
    query = query.where((eb) => eb(eb.refTuple('queued_at', 'id'), '>', eb.tuple(after.at, after.id)))
  return firstOf(query.orderBy('queued_at').orderBy('id'), limit)
}

/** The first of {@link waitingConversations}. */
export const queuedConversations = (scope: Scope, limit: number): Promise<readonly ConversationRow[]> =>
  waitingConversations(scope, { limit })

/** All that a member of staff has, newest first. */
export async function heldConversations(scope: Scope, staffId: string): Promise<readonly ConversationRow[]> {
  return read(scope).where('held_by', '=', staffId).orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
}

/** What of the open or the closed ones is asked for. */
export interface ConversationFilter {
  readonly status?: ConversationStatus
  readonly heldBy?: string
  readonly account?: string
  readonly clientId?: string
}

/** The open ones, newest first. */
export async function openConversations(
  scope: Scope,
  { after, limit, ...filter }: ConversationFilter & Piece,
): Promise<readonly ConversationRow[]> {
  let query = filtered(scope, filter).where('closed_at', 'is', null)
  // With these words the few that wait are found without looking at all that are open.
  if (filter.status === 'queued') query = query.where('queued_at', 'is not', null)
  if (after !== undefined)
    query = query.where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(after.at, after.id)))
  return firstOf(query.orderBy('created_at', 'desc').orderBy('id', 'desc'), limit)
}

/** The closed ones, those that were closed last first. */
export async function closedConversations(
  scope: Scope,
  { after, limit, ...filter }: ConversationFilter & Piece,
): Promise<readonly ConversationRow[]> {
  let query = filtered(scope, filter).where('closed_at', 'is not', null)
  if (after !== undefined)
    query = query.where((eb) => eb(eb.refTuple('closed_at', 'id'), '<', eb.tuple(after.at, after.id)))
  return firstOf(query.orderBy('closed_at', 'desc').orderBy('id', 'desc'), limit)
}

function filtered(scope: Scope, filter: ConversationFilter) {
  const { heldBy, account, clientId } = filter
  let query = read(scope)
  if (filter.status !== undefined) query = query.where('status', '=', status(filter.status))
  if (heldBy !== undefined) query = query.where('held_by', '=', heldBy)
  if (account !== undefined) query = query.where('account', '=', account)
  if (clientId !== undefined) query = query.where('client_id', '=', clientId)
  return query
}

/** How many there are of each, counted up to `most`, and since when whoever came last waits. */
export async function countForStaff(
  { db, company }: Scope,
  { staffId, most }: { readonly staffId: string; readonly most: number },
): Promise<{
  readonly waiting: number
  readonly mine: number
  readonly settle: number
  readonly newestWaiting: number | null
}> {
  const conversations = () =>
    db.query.selectFrom('poppy_conversations').select('id').where('company', '=', company).limit(pageSize(most))
  const newest = db.query
    .selectFrom('poppy_conversations')
    .select('queued_at')
    .where('company', '=', company)
    .where('status', '=', status('queued'))
    .where('queued_at', 'is not', null)
    .orderBy('queued_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
  const counted = await db.query
    .selectNoFrom(({ selectFrom, fn }) => [
      selectFrom(
        conversations()
          .where('status', '=', status('queued'))
          .where('queued_at', 'is not', null)
          .orderBy('queued_at')
          .orderBy('id')
          .as('waiting'),
      )
        .select(fn.countAll<number>().as('count'))
        .as('waiting'),
      selectFrom(conversations().where('held_by', '=', staffId).as('mine'))
        .select(fn.countAll<number>().as('count'))
        .as('mine'),
      selectFrom(
        db.query
          .selectFrom('poppy_operations')
          .select('id')
          .where('company', '=', company)
          .where('unknown_since', 'is not', null)
          .orderBy('unknown_since')
          .limit(pageSize(most))
          .as('settle'),
      )
        .select(fn.countAll<number>().as('count'))
        .as('settle'),
      newest.as('newest'),
    ])
    .executeTakeFirstOrThrow()
  const upTo = (number: number | null) => Math.min(Number(number), most)
  const { waiting, mine, settle, newest: newestWaiting } = counted
  return { waiting: upTo(waiting), mine: upTo(mine), settle: upTo(settle), newestWaiting }
}

/** Those that have to be looked at by now. */
export async function conversationsInCare(
  { db, company }: Scope,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await db.query
    .selectFrom('poppy_conversations')
    .select('id')
    .where('company', '=', company)
    .where('care_due_at', '<=', now)
    .orderBy('care_due_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Has a conversation looked at later: where nothing has happened to it since it was seen. Nothing of it is news. */
export async function careLater(
  { db, company }: Scope,
  { id, version }: Pick<ConversationRow, 'id' | 'version'>,
  at: number,
): Promise<void> {
  await db.query
    .updateTable('poppy_conversations')
    .set({ care_due_at: at })
    .where('company', '=', company)
    .where('id', '=', id)
    .where('version', '=', version)
    .execute()
}
