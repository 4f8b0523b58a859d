import { staffSeen } from '../conversations/presence.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/**
 * What an inbox shows and nobody tells of: that a colleague is gone, that a sign-in has run out, and what was told while the
 * way to other instances was lost. It is looked for, for all streams of an instance at once.
 */

/** What was found: to be compared with what is found next. */
export interface Found {
  /** Who is here. */
  readonly people: string
  /** By conversation: its rights, and whether anybody listens. What happens in it is told. */
  readonly conversations: ReadonlyMap<string, string>
}

const text = (ids: string) => `select c.id, s.grant_id, s.epoch, g.scopes,
    case when s.id is null or s.ended_at is not null or s.expires_at <= :now or s.last_used_at <= :aliveAt
      then 1 else 0 end as is_over,
    case when b.client_id is null then 0 else 1 end as is_blocked,
    case when g.id is null or g.revoked_at is not null or g.expires_at <= :now then 1 else 0 end as is_signed_out,
    case when l.ends_at > :now then 1 else 0 end as is_connected
  from poppy_conversations c
  left join poppy_sessions s on s.company = c.company and s.id = c.session_id
  left join poppy_grants g on g.company = c.company and g.id = s.grant_id
  left join poppy_blocked_agents b on b.company = c.company and b.client_id = c.client_id
  left join poppy_listeners l on l.company = c.company and l.conversation_id = c.id
  where c.company = :company and c.id in (${ids})`

const stand = statement<
  { readonly ids: string; readonly now: number; readonly aliveAt: number },
  { readonly id: string }
>({
  sqlite: text('select value from json_each(:ids)'),
  postgres: text('select json_array_elements_text(cast(:ids as json))'),
})

/** Looks. */
export async function look(
  scope: Scope,
  {
    ids,
    now,
    idle,
    absence,
  }: { readonly ids: readonly string[]; readonly now: number; readonly idle: number; readonly absence: number },
): Promise<Found> {
  const people = JSON.stringify(await staffSeen(scope, now - absence))
  const rows = ids.length === 0 ? [] : await stand(scope, { ids: JSON.stringify(ids), now, aliveAt: now - idle })
  return { people, conversations: new Map(rows.map((row) => [row.id, JSON.stringify(row)])) }
}
