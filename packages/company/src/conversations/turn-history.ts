import type { WireEventMessage } from '@poppyseed/protocol'
import type { HeardMessage } from '../company-agent/turn.ts'
import type { Scope } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { ConversationRow } from './row.ts'

/** What the Company Agent reads of a conversation, and of those that hang together with it (7.10). */

/** Messages that a turn is given at most, and bytes of them as they are kept. The newest are. */
const mostMessages = 200
const mostBytes = 262_144
/** How many at a time are read, and of how many other conversations. */
const atATime = 50
const mostRelated = 5

/** A message, with the number of its event. */
interface Numbered {
  readonly number: number
  readonly isOwn: boolean
  readonly message: HeardMessage
}

const messagesText = `select number, type, body, created_at from poppy_events
  where company = :company and conversation_id = :id and type in ('message', 'message.own') and number > :after
    and number <= :until order by number desc limit :limit`
const messages = statement<
  { readonly id: string; readonly after: number; readonly until: number; readonly limit: number },
  { readonly number: number; readonly type: string; readonly body: string; readonly created_at: number }
>({ sqlite: messagesText, postgres: messagesText })

/** Room that is left for messages. */
interface Room {
  messages: number
  bytes: number
}

/** The newest messages that there is room for, oldest first. Those with context alone say nothing. */
async function newest(
  scope: Scope,
  {
    id,
    after = 0,
    until,
    room,
    place,
  }: {
    readonly id: string
    readonly after?: number
    readonly until: number
    readonly room: Room
    readonly place?: 'parent' | 'direct'
  },
): Promise<readonly Numbered[]> {
  const found: Numbered[] = []
  for (let before = until; ; ) {
    const rows = await messages(scope, { id, after, until: before, limit: atATime })
    for (const { number, type, body, created_at: at } of rows) {
      const message = heard(body, at, place)
      if (message === null) continue
      const bytes = Buffer.byteLength(body)
      // One that is larger than all the room is read all the same: it may be the one that is asked.
      if (room.messages < 1 || (room.bytes < bytes && room.bytes < mostBytes)) return found.reverse()
      room.messages -= 1
      room.bytes -= bytes
      found.push({ number: Number(number), isOwn: type.endsWith('.own'), message })
    }
    if (rows.length < atATime) return found.reverse()
    before = Number(rows.at(-1)?.number) - 1
  }
}

function heard(body: string, at: number, place: 'parent' | 'direct' | undefined): HeardMessage | null {
  const { id, role, sender, text, data, operation } = (JSON.parse(body) as { readonly message: WireEventMessage })
    .message
  if ((text === undefined || text.trim() === '') && data === undefined && operation === undefined) return null
  return Object.freeze({
    id,
    from: role,
    sender,
    ...(text === undefined ? {} : { text }),
    ...(data === undefined ? {} : { data }),
    ...(operation === undefined ? {} : { operation }),
    at: Number(at),
    ...(place === undefined ? {} : { in: place }),
  })
}

/** What a turn is given to read. */
export interface History {
  readonly history: readonly HeardMessage[]
  /** The messages of the Personal Agent's side that the turn answers. */
  readonly asked: readonly HeardMessage[]
}

/**
 * All messages up to `turn_asked`, so that a turn that is begun again reads the same, and of the conversations that hang together
 * with this one: the Company Agent of each knows what was said in the others.
 */
export async function historyOf(
  scope: Scope,
  row: Pick<ConversationRow, 'id' | 'parent_id' | 'account' | 'answered' | 'turn_asked' | 'created_at'>,
): Promise<History> {
  const room: Room = { messages: mostMessages, bytes: mostBytes }
  const own = await newest(scope, { id: row.id, until: row.turn_asked, room })
  const read = new Map<string, readonly Numbered[]>()
  for (const { id, place } of await relatedTo(scope, row)) {
    if (room.messages < 1) break
    read.set(id, await newest(scope, { id, until: Number.MAX_SAFE_INTEGER, room, place }))
  }
  // 7.2: looked at again after they were read. One becomes an account's before anything of that is said in it.
  const still = read.size === 0 ? [] : await relatedTo(scope, row)
  const others = still.flatMap(({ id }) => (read.get(id) ?? []).map(({ message }) => message))
  return {
    history: merged(
      others.sort((one, other) => one.at - other.at),
      own.map(({ message }) => message),
    ),
    asked: own.filter(({ number, isOwn }) => isOwn && number > row.answered).map(({ message }) => message),
  }
}

/** Two lists as one, by time; each keeps its order, whatever the clocks of several instances say. */
function merged(others: readonly HeardMessage[], own: readonly HeardMessage[]): readonly HeardMessage[] {
  const all: HeardMessage[] = []
  let next = 0
  for (const message of own) {
    for (let other = others[next]; other !== undefined && other.at <= message.at; other = others[++next])
      all.push(other)
    all.push(message)
  }
  // What was asked stays last: a turn answers that.
  const last = all.pop()
  return last === undefined ? others.slice(next) : [...all, ...others.slice(next), last]
}

/**
 * Those that hang together with a conversation and whose words may be said in it: what is an account's stays among those of
 * that account (7.2). When a Direct Conversation closes, its account becomes its parent's, which knows it from then on.
 */
async function relatedTo(
  { db, company }: Scope,
  { id, parent_id: parent, account }: Pick<ConversationRow, 'id' | 'parent_id' | 'account'>,
): Promise<readonly { readonly id: string; readonly place: 'parent' | 'direct' }[]> {
  const tellable = db.query
    .selectFrom('poppy_conversations')
    .select('id')
    .where('company', '=', company)
    .where((eb) => eb.or([eb('account', 'is', null), ...(account === null ? [] : [eb('account', '=', account)])]))
  const before = parent === null ? [] : await tellable.where('id', '=', parent).execute()
  const direct = await tellable
    .where('parent_id', '=', parent ?? id)
    .where('id', '<>', id)
    .orderBy('created_at', 'desc')
    .limit(mostRelated)
    .execute()
  return [
    ...before.map((one) => ({ id: one.id, place: 'parent' as const })),
    ...direct.map((one) => ({ id: one.id, place: 'direct' as const })),
  ]
}

/** The messages of the Personal Agent's side that came after one event, up to another. */
export async function messagesBetween(
  scope: Scope,
  { id, after, until }: { readonly id: string; readonly after: number; readonly until: number },
): Promise<readonly HeardMessage[]> {
  const found = await newest(scope, { id, after, until, room: { messages: mostMessages, bytes: mostBytes } })
  return found.filter(({ isOwn }) => isOwn).map(({ message }) => message)
}
