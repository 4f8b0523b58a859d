import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/** Who is known to listen: one row for a conversation, until a time. */

/** Whether the Personal Agent of a conversation listens, and when it was last seen. */
export interface LastSeen {
  /** Null where people are neither wanted nor at work: then it isn't known. */
  readonly isConnected: boolean | null
  /** Milliseconds since 1970, to about a minute: when its Session was last used. Null where the Session is gone. */
  readonly lastSeenAt: number | null
}

interface Id {
  readonly conversation_id: string
}

const holdText = `update poppy_listeners set ends_at = :endsAt
  where company = :company and conversation_id = :id and ends_at > :now returning conversation_id`
const hold = statement<{ readonly id: string; readonly now: number; readonly endsAt: number }, Id>({
  sqlite: holdText,
  postgres: holdText,
})

// For conversations that are there, and want people: nothing comes back for one that was erased or handed back meanwhile. In
// one order everywhere: two instances that write the same rows would wait for each other.
const writeText = (ids: string) => `insert into poppy_listeners (company, conversation_id, ends_at)
  select c.company, c.id, :endsAt from poppy_conversations c
  where c.company = :company and c.id in (${ids})
    and (c.status = 'queued' or (c.responder = 'human' and c.status <> 'closed'))
  order by c.id
  on conflict (company, conversation_id) do update set ends_at = excluded.ends_at
    where poppy_listeners.ends_at < excluded.ends_at
  returning conversation_id`
const idsOf = {
  sqlite: 'select value from json_each(:ids)',
  postgres: 'select json_array_elements_text(cast(:ids as json))',
}
const write = statement<{ readonly ids: string; readonly endsAt: number }, Id>({
  sqlite: writeText(idsOf.sqlite),
  postgres: writeText(idsOf.postgres).replace('c.id, :endsAt', 'c.id, cast(:endsAt as bigint)'),
})

const removeText = `delete from poppy_listeners
  where company = :company and conversation_id = :id and ends_at = :endsAt returning conversation_id`
const remove = statement<{ readonly id: string; readonly endsAt: number }, Id>({
  sqlite: removeText,
  postgres: removeText,
})

const seenText = (ids: string) => `select c.id, s.last_used_at,
    case when not (c.status = 'queued' or (c.responder = 'human' and c.status <> 'closed')) then null
      when l.ends_at > :now then 1 else 0 end as is_connected
  from poppy_conversations c
  left join poppy_sessions s on s.company = c.company and s.id = c.session_id
  left join poppy_listeners l on l.company = c.company and l.conversation_id = c.id
  where c.company = :company and c.id in (${ids})`
const seen = statement<
  { readonly ids: string; readonly now: number },
  { readonly id: string; readonly last_used_at: number | null; readonly is_connected: number | null }
>({ sqlite: seenText(idsOf.sqlite), postgres: seenText(idsOf.postgres) })

/** Notes that somebody listens; whether that is news. Milliseconds since 1970. */
export async function noteListening(
  scope: Scope,
  noted: { readonly id: string; readonly now: number; readonly endsAt: number },
): Promise<boolean> {
  if ((await hold(scope, noted)).length > 0) return false
  return (await write(scope, { ids: JSON.stringify([noted.id]), endsAt: noted.endsAt })).length > 0
}

/** Notes that somebody still listens. */
export async function renewListening(
  scope: Scope,
  { ids, endsAt }: { readonly ids: readonly string[]; readonly endsAt: number },
): Promise<void> {
  await write(scope, { ids: JSON.stringify(ids), endsAt })
}

/** Takes a note back, unless another instance has written it since; whether it did. */
export async function stopListening(
  scope: Scope,
  noted: { readonly id: string; readonly endsAt: number },
): Promise<boolean> {
  return (await remove(scope, noted)).length > 0
}

/** For these conversations. */
export async function lastSeenOf(
  scope: Scope,
  { ids, now }: { readonly ids: readonly string[]; readonly now: number },
): Promise<ReadonlyMap<string, LastSeen>> {
  const rows = await seen(scope, { ids: JSON.stringify(ids), now })
  return new Map(
    rows.map(({ id, last_used_at, is_connected }) => [
      id,
      {
        isConnected: is_connected === null ? null : Number(is_connected) === 1,
        lastSeenAt: last_used_at === null ? null : Number(last_used_at),
      },
    ]),
  )
}
