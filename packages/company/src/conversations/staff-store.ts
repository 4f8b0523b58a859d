import type { ConversationStatus } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import { type ConversationRow, conversationColumns } from './row.ts'

/** Which conversations there are, for the company's own people. */

const read = ({ db, company }: Scope) =>
  db.query
    .selectFrom('poppy_conversations')
    .select([...conversationColumns])
    .where('company', '=', company)

/** Those that wait for a person, whoever waits longest first. */
export async function queuedConversations(scope: Scope, limit: number): Promise<readonly ConversationRow[]> {
  return read(scope)
    .where('status', '=', 'queued')
    .where('queued_at', 'is not', null)
    .orderBy('queued_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** All that a member of staff has. */
export async function heldConversations(scope: Scope, staffId: string): Promise<readonly ConversationRow[]> {
  return read(scope).where('held_by', '=', staffId).orderBy('id').execute()
}

/** Which conversations {@link listConversations} gives. */
export interface ConversationFilter {
  readonly status?: ConversationStatus
  readonly isOpen?: boolean
  readonly heldBy?: string
  readonly account?: string
  readonly clientId?: string
  /** Goes on after this one: `created_at` and id of the last one of the page before. */
  readonly after?: { readonly createdAt: number; readonly id: string }
  readonly limit: number
}

/** Conversations, newest first. */
export async function listConversations(scope: Scope, filter: ConversationFilter): Promise<readonly ConversationRow[]> {
  const { status, isOpen, heldBy, account, clientId, after, limit } = filter
  let query = read(scope)
  if (status !== undefined) query = query.where('status', '=', status)
  if (isOpen !== undefined) query = query.where('closed_at', isOpen ? 'is' : 'is not', null)
  if (heldBy !== undefined) query = query.where('held_by', '=', heldBy)
  if (account !== undefined) query = query.where('account', '=', account)
  if (clientId !== undefined) query = query.where('client_id', '=', clientId)
  if (after !== undefined)
    query = query.where((eb) =>
      eb.or([
        eb('created_at', '<', after.createdAt),
        eb.and([eb('created_at', '=', after.createdAt), eb('id', '>', after.id)]),
      ]),
    )
  return query.orderBy('created_at', 'desc').orderBy('id').limit(limit).execute()
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
