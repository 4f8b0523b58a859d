import type { SessionLimits } from '../sessions/rights.ts'
import type { Scope } from '../store/database.ts'

/**
 * Which conversations of a list have a User who is signed in at this moment: the same that `rights-now.ts` says of one, for a
 * page of them in one statement.
 */
export async function signedInConversations(
  { db, company }: Scope,
  ids: readonly string[],
  { now, limits }: { readonly now: number; readonly limits: SessionLimits },
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db.query
    .selectFrom('poppy_conversations as c')
    .innerJoin('poppy_sessions as s', (join) =>
      join.onRef('s.company', '=', 'c.company').onRef('s.id', '=', 'c.session_id'),
    )
    .innerJoin('poppy_grants as g', (join) =>
      join.onRef('g.company', '=', 's.company').onRef('g.id', '=', 's.grant_id'),
    )
    .leftJoin('poppy_blocked_agents as b', (join) =>
      join.onRef('b.company', '=', 's.company').onRef('b.client_id', '=', 's.client_id'),
    )
    .select('c.id')
    .where('c.company', '=', company)
    .where('c.id', 'in', [...ids])
    // The token of the last accepted message was signed in, and nobody signed out since (4.9).
    .where('c.grant_id', 'is not', null)
    .whereRef('c.epoch', '=', 's.epoch')
    .whereRef('s.client_id', '=', 'c.client_id')
    .whereRef('s.user_id', '=', 'c.caller_user_id')
    .where('s.account', 'is not', null)
    .where('s.ended_at', 'is', null)
    .where('s.expires_at', '>', now)
    .where('s.last_used_at', '>', now - limits.idle)
    .where('g.revoked_at', 'is', null)
    .where((eb) => eb.or([eb('g.expires_at', 'is', null), eb('g.expires_at', '>', now)]))
    .where('b.client_id', 'is', null)
    .execute()
  return new Set(rows.map(({ id }) => id))
}
