import type { Scope } from '../store/database.ts'
import { askedName, askedText, forMany } from '../store/for-many.ts'
import { gathered } from '../store/gather.ts'
import { type Statement, statement } from '../store/statement.ts'
import { deliveryColumns, insertDeliveries, type NewDelivery } from '../webhooks/store.ts'
import { castOf, conversationColumns } from './row.ts'

/**
 * How the ledger writes: the row, its events and the receipt in one transaction. On PostgreSQL that is one statement, and what
 * is written to several conversations at the same moment is one as well, each compared and set by itself. On SQLite it is
 * several, which cost no round trip.
 */

/** Values by the names that they have in the statements. */
export type Values = Readonly<Record<string, unknown>>

/** An event as it is written. */
export interface EventValues {
  readonly number: number
  readonly type: string
  readonly body: string
  readonly writtenFor: string | null
}

/** What is written of one conversation. */
export interface Write {
  readonly id: string
  /** The row's own: `lastEvent`, `oldestAt`, `now`, and for a change `seen`, its version. */
  readonly head: Values
  /** The columns that are set, by name. */
  readonly set: Values
  readonly events: readonly EventValues[]
  /** What the company's own systems are told of it. */
  readonly deliveries: readonly NewDelivery[]
  /** The receipt's; null where there is none. */
  readonly receipt: Values | null
  /** Whose rights have to be as they were known, at this moment; null where nobody's have. */
  readonly holds: Held | null
}

/** A Session, and the sign-in that it had: with the account, or null where it is used signed out. */
export interface Held {
  readonly heldSession: string
  readonly heldAccount: string | null
  readonly heldEpoch: number
}

type Row = { readonly id: string }

/**
 * Writes a change of the row whose version was seen. False when there is none, when an event of it is written already, when
 * its message is known, or when rights that it was decided with are others by now: then nothing is written.
 */
export async function writeChange(scope: Scope, write: Write): Promise<boolean> {
  const { id, head, set, events, deliveries, receipt, holds } = write
  const columns = Object.keys(set)
  const keys = events.flatMap(({ writtenFor }) => writtenFor ?? [])
  const values: Values & Row = { id, ...head }
  const own = { ...values, ...columnValues(set), ...keyValues(keys), ...holds }
  if (scope.db.name === 'postgres') {
    const change = changeOf({
      columns,
      events: events.length,
      keys: keys.length,
      receipt: receipt !== null,
      deliveries: deliveries.length,
      holds: holds !== null,
    })
    return change(scope, { ...own, ...receipt, ...flat(events), ...flat(deliveries.map(asValues)) })
  }
  return scope.db.transaction(async () => {
    if (receipt !== null && (await hasReceipt(scope, receipt)).length > 0) return false
    const rows = await onSqlite(updateText(columns, keys.length, holds !== null))(scope, own)
    if (rows.length === 0) return false
    await addEvents(scope, write)
    if (receipt !== null) await addReceipt(scope, { ...receipt, id })
    await insertDeliveries(scope, deliveries)
    return true
  })
}

/** Writes a new conversation. `taken`: its message is known. `gone`: its Session is, or has not the rights that are held. */
export async function writeNew(
  scope: Scope,
  write: Write & { readonly receipt: Values },
): Promise<'kept' | 'taken' | 'gone'> {
  const { id, head, set, events, deliveries, receipt, holds } = write
  const values = { ...set, ...head, ...receipt, ...holds, id }
  if (scope.db.name === 'postgres') {
    const insert = insertShape(events.length, deliveries.length, holds !== null)
    const own = { ...values, ...flat(events), ...flat(deliveries.map(asValues)) }
    const rows = await unlessTaken(() => insert(scope, own))
    if (rows === null) return 'taken'
    return rows.length === 1 ? 'kept' : 'gone'
  }
  return scope.db.transaction(async () => {
    if ((await hasReceipt(scope, values)).length > 0) return 'taken'
    // An erasure at the same moment finds the conversation, or has it find no Session.
    const rows = await (holds === null ? addConversation : addHeld)(scope, values)
    if (rows.length === 0) return 'gone'
    await addEvents(scope, write)
    await addReceipt(scope, values)
    await insertDeliveries(scope, deliveries)
    return 'kept'
  })
}

async function addEvents(scope: Scope, { id, head, events }: Write): Promise<void> {
  for (const event of events) await addEvent(scope, { ...event, id, now: head.now })
}

const columnValues = (set: Values) =>
  Object.fromEntries(Object.entries(set).map(([name, value]) => [`set_${name}`, value]))
const keyValues = (keys: readonly string[]) => Object.fromEntries(keys.map((key, at) => [`k${at}`, key]))
const asValues = ({ id, endpoint, event, body }: NewDelivery) => ({
  deliveryId: id,
  deliveryTo: endpoint,
  deliveryEvent: event,
  deliveryBody: body,
})
const flat = (rows: readonly object[]) =>
  Object.fromEntries(rows.flatMap((row, at) => Object.entries(row).map(([name, value]) => [`${name}${at}`, value])))

const numbers: ReadonlySet<string> = new Set([
  ...['seen', 'lastEvent', 'oldestAt', 'now', 'code', 'messageEvent'],
  'heldEpoch',
])
/** Whether a value of a change is a number. */
const isNumber = (name: string) =>
  name.startsWith('set_') ? castOf(name.slice(4)) === 'bigint' : numbers.has(name) || /^number\d+$/.test(name)

const setText = (columns: readonly string[]) => {
  const sets = columns.map((column) => `${column} = cast(:set_${column} as ${castOf(column)})`)
  return `${[...sets, 'version = version + 1', 'last_event = cast(:lastEvent as bigint)'].join(', ')},
    oldest_at = cast(:oldestAt as bigint), updated_at = cast(:now as bigint)`
}

// 4.9, 7.11: what is asked in a statement is as of the moment at which it writes. The sign-in is the one that the token was given
// for: another one counts the epoch up. Scopes are not among it: each call of a tool looks at them again.
const heldText = (session: string) => `exists (select 1 from poppy_sessions s
    left join poppy_grants g on g.company = s.company and g.id = s.grant_id
    left join poppy_blocked_agents b on b.company = s.company and b.client_id = s.client_id
    where s.company = :company and s.id = ${session} and s.ended_at is null and s.expires_at > cast(:now as bigint)
      and b.client_id is null and (cast(:heldAccount as text) is null or (s.account = cast(:heldAccount as text)
        and s.epoch = cast(:heldEpoch as bigint) and g.id is not null and g.revoked_at is null
        and (g.expires_at is null or g.expires_at > cast(:now as bigint)))))`

const whenText = (keys: number, holds: boolean) => {
  const unwritten = ` and not exists (select 1 from poppy_events where company = :company and conversation_id = :id
    and written_for in (${list(keys, (at) => `cast(:k${at} as text)`)}))`
  return `company = :company and id = :id and version = cast(:seen as bigint)${keys === 0 ? '' : unwritten}${
    holds ? ` and ${heldText('cast(:heldSession as text)')}` : ''
  }`
}
const updateText = (columns: readonly string[], keys: number, holds: boolean) =>
  `update poppy_conversations set ${setText(columns)} where ${whenText(keys, holds)} returning id`

const list = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join(', ')

const eventColumns = '(company, conversation_id, number, type, body, written_for, created_at)'
const toldText = (events: number) => `, told as (insert into poppy_events ${eventColumns}
  select cast(:company as text), changed.id, v.number, v.type, v.body, v.written_for, cast(:now as bigint)
  from changed, lateral (values ${list(
    events,
    (at) =>
      `(cast(:number${at} as bigint), cast(:type${at} as text), cast(:body${at} as text), cast(:writtenFor${at} as text))`,
  )}) as v (number, type, body, written_for))`

const receiptColumns =
  '(company, client_id, user_id, message_id, conversation_id, digest, code, status, responder, event)'
const receiptSelect = `insert into poppy_receipts ${receiptColumns}
  select cast(:company as text), cast(:clientId as text), cast(:userId as text), cast(:messageId as text), changed.id,
    cast(:digest as text), cast(:code as bigint), cast(:answeredStatus as text), cast(:answeredResponder as text),
    cast(:messageEvent as bigint) from changed`

// Two statements with the same messages for other conversations meet at the keys of the receipts: in one order everywhere, so that
// the second waits for the first, and never each for the other.
const receiptOrder = 'order by cast(:clientId as text), cast(:userId as text), cast(:messageId as text)'

const deliveredText = (deliveries: number) =>
  deliveries === 0
    ? ''
    : `, delivered as (insert into poppy_deliveries ${deliveryColumns}
  select cast(:company as text), v.id, v.endpoint, v.event, v.body, changed.id, null, cast(:now as bigint), 0,
    cast(:now as bigint), null
  from changed, lateral (values ${list(
    deliveries,
    (at) =>
      `(cast(:deliveryId${at} as text), cast(:deliveryTo${at} as text), cast(:deliveryEvent${at} as text), cast(:deliveryBody${at} as text))`,
  )}) as v (id, endpoint, event, body))`

interface Shape {
  readonly columns: readonly string[]
  readonly events: number
  readonly keys: number
  readonly receipt: boolean
  readonly deliveries: number
  readonly holds: boolean
}

/** One for each set of columns and number of events: there are as many as there are rules. */
const changes = new Map<string, (scope: Scope, values: Values & Row) => Promise<boolean>>()

function changeOf(shape: Shape): (scope: Scope, values: Values & Row) => Promise<boolean> {
  const name = JSON.stringify(shape)
  const known = changes.get(name)
  if (known !== undefined) return known
  const made = makeChange(shape)
  changes.set(name, made)
  return made
}

function makeChange({ columns, events, keys, receipt, deliveries, holds }: Shape) {
  const told = events === 0 ? '' : toldText(events)
  const delivered = deliveredText(deliveries)
  const also = `${told}${receipt ? `, received as (${receiptSelect})` : ''}${delivered}`
  const alsoOfMany = `${told}${receipt ? `, received as (${receiptSelect} ${receiptOrder})` : ''}${delivered}`
  const alone = onPostgres(`with changed as (${updateText(columns, keys, holds)})${also} select id from changed`)
  const together = forMany<Row>(
    (names) => `with asked as (${askedText(names, isNumber)}), ${freeText}, changed as (
        update poppy_conversations set ${setText(columns)} from free
        where ${whenText(keys, holds)} returning id, ${names.map(askedName).join(', ')})
      ${alsoOfMany} select id from changed`,
    'kept',
  )
  return gathered<Values & Row, boolean>({
    alone: async (scope, values) => (await unlessTaken(() => alone(scope, values)))?.length === 1,
    together: async (scope, items) => new Map((await together(scope, items)).map(({ id }) => [id, true])),
  })
}

// Whoever holds one of them has only that one wait: it is left out here, and changed alone. Each is found by its key, and few
// are promised to be left: on a table that grows faster than its statistics the planner would rather read all of it.
const freeText = `free as (select asked.* from asked, lateral (select version from poppy_conversations
    where company = :company and id = :id for update skip locked) as locked
  where version = :seen)`

function insertShape(events: number, deliveries: number, holds: boolean): Statement<Values, Row> {
  const columns = conversationColumns
  return onPostgres(
    `with held as (select id from poppy_sessions where company = :company and id = :session_id${
      holds ? ` and ${heldText(':session_id')}` : ''
    } for key share),
    changed as (insert into poppy_conversations (company, ${columns.join(', ')})
      select cast(:company as text), ${columns.map((column) => `cast(:${column} as ${castOf(column)})`).join(', ')}
      from held returning id)${toldText(events)}, received as (${receiptSelect})${deliveredText(deliveries)} select id from changed`,
  )
}

const onPostgres = (text: string) => kept(text, 'postgres')
const onSqlite = (text: string) => kept(text, 'sqlite')

const statements = new Map<string, Statement<Values, Row>>()

function kept(text: string, name: 'sqlite' | 'postgres'): Statement<Values, Row> {
  const known = statements.get(text)
  if (known !== undefined) return known
  const none = 'select :company'
  const made = statement<Values, Row>({ sqlite: none, postgres: none, [name]: text })
  statements.set(text, made)
  return made
}

const columnList = conversationColumns.join(', ')
const addText = (where: string) => `insert into poppy_conversations (company, ${columnList})
  select :company, ${conversationColumns.map((column) => `:${column}`).join(', ')}
  from poppy_sessions held where held.company = :company and held.id = :session_id${where} returning id`
const addConversation = onSqlite(addText(''))
const addHeld = onSqlite(addText(` and ${heldText(':session_id')}`))
const addEvent = onSqlite(`insert into poppy_events ${eventColumns}
  values (:company, :id, :number, :type, :body, :writtenFor, :now)`)
const hasReceipt = onSqlite(`select conversation_id as id from poppy_receipts
  where company = :company and client_id = :clientId and user_id = :userId and message_id = :messageId`)
const addReceipt = onSqlite(`insert into poppy_receipts ${receiptColumns}
  values (:company, :clientId, :userId, :messageId, :id, :digest, :code, :answeredStatus, :answeredResponder, :messageEvent)`)

/** Null when the message is known: two at once meet at the key of the receipts, and all of the second is taken back. */
async function unlessTaken<T>(run: () => Promise<T>): Promise<T | null> {
  try {
    return await run()
  } catch (error) {
    if (isTaken(error)) return null
    throw error
  }
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, table } = error as { readonly code?: unknown; readonly table?: unknown }
  return code === '23505' && table === 'poppy_receipts'
}
