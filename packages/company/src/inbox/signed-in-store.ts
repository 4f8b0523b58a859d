import type { SessionLimits } from '../sessions/rights.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'

// From the conversations on, whatever a database thinks of its tables: all that is asked of a Session stands where nothing could
// be looked for by it, and a page costs the same however many Sessions there are. The token of the last accepted message was
// signed in, and nobody signed out since (4.9).
const text = (ids: string) => `select c.id,
    case when c.epoch = s.epoch and s.client_id = c.client_id and s.user_id = c.caller_user_id and s.account is not null
      and s.ended_at is null and s.expires_at > :now and s.last_used_at > :aliveAt
      and g.id is not null and g.revoked_at is null and (g.expires_at is null or g.expires_at > :now)
      and b.client_id is null then 1 else 0 end as is_signed_in
  from poppy_conversations c
  left join poppy_sessions s on s.company = c.company and s.id = c.session_id
  left join poppy_grants g on g.company = s.company and g.id = s.grant_id
  left join poppy_blocked_agents b on b.company = s.company and b.client_id = s.client_id
  where c.company = :company and c.grant_id is not null and c.id in (${ids})`

const signedIn = statement<
  { readonly ids: string; readonly now: number; readonly aliveAt: number },
  { readonly id: string; readonly is_signed_in: number }
>({
  sqlite: text('select value from json_each(:ids)'),
  postgres: text('select json_array_elements_text(cast(:ids as json))'),
})

/**
 * Which conversations of a list have a User who is signed in at this moment: the same that `rights-now.ts` says of one, for a
 * page of them in one statement.
 */
export async function signedInConversations(
  scope: Scope,
  ids: readonly string[],
  { now, limits }: { readonly now: number; readonly limits: SessionLimits },
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await signedIn(scope, { ids: JSON.stringify(ids), now, aliveAt: now - limits.idle })
  return new Set(rows.flatMap(({ id, is_signed_in }) => (Number(is_signed_in) === 1 ? [id] : [])))
}
