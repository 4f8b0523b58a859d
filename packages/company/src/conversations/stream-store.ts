import { peekTexts, type SessionRow } from '../sessions/session-sql.ts'
import { type SessionState, sessionOf } from '../sessions/store.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { ConversationRow } from './row.ts'
import { isNews, type StoredEvent } from './store.ts'

/** What streams read (7.6): events together with what says whether they may still be told, and that for many at once. */

/** A conversation, as far as it matters for what is told of it. */
export type ReadRow = Pick<
  ConversationRow,
  'id' | 'client_id' | 'user_id' | 'account' | 'status' | 'responder' | 'first_event' | 'last_event'
>

/** What is to be delivered, and all that decides whether it may be, as of one moment. */
export interface Delivery {
  readonly row: ReadRow
  readonly events: readonly StoredEvent[]
  /** Null where the Session is gone. */
  readonly session: SessionState | null
}

interface Row extends ReadRow, SessionRow {
  readonly number: number | null
  readonly body: string | null
  readonly type: string | null
}

// One statement sees everything as of one moment: an event that was written after a sign-out comes with that sign-out. The
// Session stands in the first row alone; numbers have no gaps.
const text = (
  peek: string,
  max: string,
) => `select e.number, e.body, e.type, c.id, c.client_id, c.user_id, c.account, c.status,
    c.responder, c.first_event, c.last_event,
    case when e.number is null or e.number = ${max}(:after, c.first_event - 1) + 1 then (${peek}) end as state
  from poppy_conversations c left join poppy_events e
    on e.company = c.company and e.conversation_id = c.id and e.number > ${max}(:after, c.first_event - 1)
      and e.number <= ${max}(:after, c.first_event - 1) + :limit
  where c.company = :company and c.id = :id order by e.number`
const deliveries = statement<
  { readonly id: string; readonly after: number; readonly limit: number; readonly sessionId: string },
  Row
>({ sqlite: text(peekTexts.sqlite, 'max'), postgres: text(peekTexts.postgres, 'greatest') })

/** The next events of a conversation that are kept, at most so many; null where there is no such conversation. */
export async function readDelivery(
  scope: Scope,
  asked: { readonly id: string; readonly after: number; readonly limit: number; readonly sessionId: string },
): Promise<Delivery | null> {
  const rows = await deliveries(scope, asked)
  const [row] = rows
  if (row === undefined) return null
  const events: StoredEvent[] = []
  for (const { number, body, type } of rows)
    if (number !== null && body !== null) events.push({ number, body, isNews: isNews(type ?? '') })
  return { row, events, session: sessionOf(row) }
}

/** A stream, as far as it matters for whether it may go on. */
export interface Standing {
  readonly conversationId: string
  readonly sessionId: string
  readonly userId: string
  /** The account that its token was signed in to, or null. */
  readonly account: string | null
  readonly epoch: number
}

const over = (tokens: string, value: (at: number, type: string) => string, key: string) => `select ${key} as number
  from ${tokens}
  left join poppy_conversations c on c.company = :company and c.id = ${value(0, 'text')}
  left join poppy_sessions s on s.company = :company and s.id = ${value(1, 'text')}
  left join poppy_grants g on g.company = :company and g.id = s.grant_id
  left join poppy_blocked_agents b on b.company = :company and b.client_id = s.client_id
  where c.id is null or s.id is null or s.ended_at is not null or s.expires_at <= :now or s.last_used_at <= :aliveAt
    or b.client_id is not null
    or (${value(3, 'text')} is not null and (s.epoch <> ${value(4, 'bigint')} or g.id is null or g.revoked_at is not null
      or g.expires_at <= :now or s.account <> ${value(3, 'text')}))
    or (c.account is null and c.user_id <> ${value(2, 'text')})
    or (c.account is not null and (${value(3, 'text')} is null or c.account <> ${value(3, 'text')}))`
const ended = statement<
  { readonly tokens: string; readonly now: number; readonly aliveAt: number },
  { readonly number: number }
>({
  sqlite: over('json_each(:tokens) t', (at) => `json_extract(t.value, '$[${at}]')`, 't.key'),
  postgres: over(
    'json_array_elements(cast(:tokens as json)) with ordinality as t(value, place)',
    (at, type) => `cast(t.value->>${at} as ${type})`,
    't.place - 1',
  ),
})

/** How many are asked about in one statement: what it takes is small, however many streams there are. */
const atATime = 500

/** Which of these may not go on: their Session has ended, they aren't signed in any more, or the conversation is another's. */
export async function endedOf<Kind extends Standing>(
  scope: Scope,
  all: readonly Kind[],
  { now, idle }: { readonly now: number; readonly idle: number },
): Promise<readonly Kind[]> {
  const over: Kind[] = []
  for (let from = 0; from < all.length; from += atATime) {
    const some = all.slice(from, from + atATime)
    const tokens = JSON.stringify(
      some.map(({ conversationId, sessionId, userId, account, epoch }) => [
        conversationId,
        sessionId,
        userId,
        account,
        epoch,
      ]),
    )
    const rows = await ended(scope, { tokens, now, aliveAt: now - idle })
    over.push(...rows.map(({ number }) => some[number] as Kind))
  }
  return over
}
