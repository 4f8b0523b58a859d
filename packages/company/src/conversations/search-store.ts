import { isId, type WireEventMessage } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import { pageSize } from '../store/page-size.ts'
import { statement } from '../store/statement.ts'
import type { NoteRow } from './notes.ts'
import { type ConversationRow, conversationColumns } from './row.ts'
import type { Place } from './staff-store.ts'

/** Conversations, as they are searched: by an index where there is one, else one after the other, in small bites. */

/** Conversations by their ids, in their order; those that are there. */
export async function conversationsByIds(scope: Scope, ids: readonly string[]): Promise<readonly ConversationRow[]> {
  const known = ids.filter(isId)
  if (known.length === 0) return []
  const { db, company } = scope
  const rows = await db.query
    .selectFrom('poppy_conversations')
    .select([...conversationColumns])
    .where('company', '=', company)
    .where('id', 'in', known)
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return known.flatMap((id) => byId.get(id) ?? [])
}

/** What is known of a conversation that was found by an index. */
export type Named = Pick<ConversationRow, 'id' | 'created_at' | 'client_id'>

const named = ({ db, company }: Scope, limit: number) =>
  db.query
    .selectFrom('poppy_conversations')
    .select(['id', 'created_at', 'client_id'])
    .where('company', '=', company)
    .limit(limit)

/** Conversations of an account, in no order. */
export async function conversationsOfAccount(
  scope: Scope,
  { account, limit }: { readonly account: string; readonly limit: number },
): Promise<readonly Named[]> {
  return named(scope, limit).where('account', '=', account).execute()
}

/** Ids of Personal Agents from one on, up to one that isn't among them; or that one alone. */
export type AgentRange = { readonly from: string; readonly to: string } | { readonly clientId: string }

/** Conversations of agents, in no order. */
export async function conversationsOfAgents(
  scope: Scope,
  { range, limit }: { readonly range: AgentRange; readonly limit: number },
): Promise<readonly Named[]> {
  const query = named(scope, limit)
  return 'clientId' in range
    ? query.where('client_id', '=', range.clientId).execute()
    : query.where('client_id', '>=', range.from).where('client_id', '<', range.to).execute()
}

/** A conversation that is to be looked through. */
export interface Candidate extends Place {
  readonly clientId: string
  readonly account: string | null
  readonly firstEvent: number
  readonly lastEvent: number
  readonly notes: number
}

/** The two halves of all conversations, each in the order of its index: newest first. */
export type Half = 'open' | 'closed'

/** The next ones that are to be looked through. */
export async function candidates(
  { db, company }: Scope,
  { half, after, limit }: { readonly half: Half; readonly after?: Place | undefined; readonly limit: number },
): Promise<readonly Candidate[]> {
  const time = half === 'open' ? 'created_at' : 'closed_at'
  let query = db.query
    .selectFrom('poppy_conversations')
    .select(['id', 'client_id', 'account', 'first_event', 'last_event', 'notes', `${time} as at`])
    .where('company', '=', company)
    .where('closed_at', half === 'open' ? 'is' : 'is not', null)
  if (after !== undefined) query = query.where((eb) => eb(eb.refTuple(time, 'id'), '<', eb.tuple(after.at, after.id)))
  const rows = await query.orderBy(time, 'desc').orderBy('id', 'desc').limit(pageSize(limit)).execute()
  return rows.slice(0, limit).map((row) => ({
    id: row.id,
    at: row.at ?? 0,
    clientId: row.client_id,
    account: row.account,
    firstEvent: row.first_event,
    lastEvent: row.last_event,
    notes: row.notes,
  }))
}

/** Where words were found: in a message, by the number of its event, or in a note. */
export interface Spoken {
  readonly kind: 'message' | 'note'
  readonly number: number
}

/** What was said somewhere. */
export interface Told extends Spoken {
  readonly id: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number
}

interface Said {
  readonly conversation_id: string
  readonly number: number
  readonly body: string
  readonly created_at: number
}

const saidText = (ids: string) => `select e.conversation_id, e.number, e.body, e.created_at from poppy_events e
  where e.company = :company and e.conversation_id in (${ids}) and e.type in ('message', 'message.own')`
const said = statement<{ readonly ids: string }, Said>({
  sqlite: saidText('select value from json_each(:ids)'),
  postgres: saidText('select value from json_array_elements_text(cast(:ids as json))'),
})

/** All that was said in messages of these conversations. */
export async function saidIn(scope: Scope, ids: readonly string[]): Promise<readonly Told[]> {
  return ids.length === 0 ? [] : toldOf(await said(scope, { ids: JSON.stringify(ids) }))
}

const pieceText = `select conversation_id, number, body, created_at from poppy_events
  where company = :company and conversation_id = :id and number >= :from and number < :before
    and type in ('message', 'message.own')`
const piece = statement<{ readonly id: string; readonly from: number; readonly before: number }, Said>({
  sqlite: pieceText,
  postgres: pieceText,
})

/** What was said in a piece of one conversation, by the numbers of its events. */
export async function saidBetween(
  scope: Scope,
  { id, from, before }: { readonly id: string; readonly from: number; readonly before: number },
): Promise<readonly Told[]> {
  return toldOf(await piece(scope, { id, from, before }))
}

function toldOf(rows: readonly Said[]): readonly Told[] {
  return rows.flatMap(({ conversation_id: id, number, body, created_at: at }) => {
    const { text } = (JSON.parse(body) as { readonly message: WireEventMessage }).message
    return text === undefined ? [] : [{ id, kind: 'message', number, text, at }]
  })
}

interface Noted {
  readonly id: string
  readonly number: number
  readonly text: string
  readonly at: number
}

const notedText = (
  ids: string,
) => `select n.conversation_id as id, n.number, n.text, n.created_at as at from poppy_notes n
  where n.company = :company and n.conversation_id in (${ids})`
const noted = statement<{ readonly ids: string }, Noted>({
  sqlite: notedText('select value from json_each(:ids)'),
  postgres: notedText('select value from json_array_elements_text(cast(:ids as json))'),
})

/** What staff noted of these conversations. */
export async function notedIn(scope: Scope, ids: readonly string[]): Promise<readonly Told[]> {
  const rows = ids.length === 0 ? [] : await noted(scope, { ids: JSON.stringify(ids) })
  return rows.map((row) => ({ ...row, kind: 'note' }))
}

type Asked = readonly (Spoken & { readonly id: string })[]

/** `[id, number]` of each, as one value. */
const placesOf = (asked: Asked, kind: Spoken['kind']) =>
  JSON.stringify(asked.flatMap((one) => (one.kind === kind ? [[one.id, one.number]] : [])))

interface MessageRow {
  readonly conversation_id: string
  readonly body: string
  readonly created_at: number
}

const messageText = (places: string, id: string, number: string) => `select e.conversation_id, e.body, e.created_at
  from ${places} p join poppy_events e on e.company = :company and e.conversation_id = ${id} and e.number = ${number}
    and e.type in ('message', 'message.own')`
const findMessages = statement<{ readonly places: string }, MessageRow>({
  sqlite: messageText('json_each(:places)', "json_extract(p.value, '$[0]')", "json_extract(p.value, '$[1]')"),
  postgres: messageText('json_array_elements(cast(:places as json))', 'p.value->>0', 'cast(p.value->>1 as bigint)'),
})

/** The messages at these places, one of each conversation at most, by its id. */
export async function messagesAt(
  scope: Scope,
  asked: Asked,
): Promise<ReadonlyMap<string, { readonly message: WireEventMessage; readonly at: number }>> {
  const places = placesOf(asked, 'message')
  const rows = places === '[]' ? [] : await findMessages(scope, { places })
  return new Map(
    rows.map(({ conversation_id: id, body, created_at: at }) => {
      const { message } = JSON.parse(body) as { readonly message: WireEventMessage }
      return [id, { message, at }]
    }),
  )
}

const noteText = (
  places: string,
  id: string,
  number: string,
) => `select n.conversation_id, n.number, n.kind, n.who, n.text,
    n.data, n.created_at
  from ${places} p join poppy_notes n on n.company = :company and n.conversation_id = ${id} and n.number = ${number}`
const findNotes = statement<{ readonly places: string }, NoteRow>({
  sqlite: noteText('json_each(:places)', "json_extract(p.value, '$[0]')", "json_extract(p.value, '$[1]')"),
  postgres: noteText('json_array_elements(cast(:places as json))', 'p.value->>0', 'cast(p.value->>1 as bigint)'),
})

/** The notes at these places. */
export async function notesAt(scope: Scope, asked: Asked): Promise<readonly NoteRow[]> {
  const places = placesOf(asked, 'note')
  return places === '[]' ? [] : findNotes(scope, { places })
}

const eventAtText = `select number from poppy_events where company = :company and conversation_id = :id and created_at <= :at
  order by number desc limit 1`
const eventAt = statement<{ readonly id: string; readonly at: number }, { readonly number: number }>({
  sqlite: eventAtText,
  postgres: eventAtText,
})

/** The number of the last event that was there at a moment; null where none of that time is kept. */
export async function lastEventAt(
  scope: Scope,
  asked: { readonly id: string; readonly at: number },
): Promise<number | null> {
  const [row] = await eventAt(scope, asked)
  return row === undefined ? null : row.number
}
