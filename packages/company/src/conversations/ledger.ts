import type { Scope } from '../store/database.ts'
import { type Statement, statement } from '../store/statement.ts'
import { careDue, type Timing } from './care.ts'
import { eventId } from './cursor.ts'
import type { ConversationParts } from './parts.ts'
import {
  type ConversationRow,
  type ConversationSet,
  castOf,
  conversationColumns,
  type Decision,
  type NewReceipt,
} from './row.ts'
import { areWritten, findConversation, findReceipt } from './store.ts'

/**
 * The ledger: each change of a conversation compares its version and raises it, and appends its events and its receipt, in
 * one transaction. So of two changes that come at once one is made, and the other is decided again.
 */

/** A change, decided on a row as it was seen. */
export interface Change extends Decision {
  readonly seen: ConversationRow
  /** Milliseconds since 1970. */
  readonly now: number
  readonly receipt?: NewReceipt
  /** Each change says when the conversation has to be looked at next: what that depends on. */
  readonly timing: Timing
}

type Values = Readonly<Record<string, unknown>>

/**
 * Makes a change. Null when something else happened since the row was seen, when an event of it is written already, or when
 * its message was accepted elsewhere at this moment: read, and decide again. Joins a transaction around it, which has to be
 * given up when this is null.
 */
export async function changeConversation(scope: Scope, change: Change): Promise<ConversationRow | null> {
  const { seen } = change
  const next = nextOf(change)
  const events = eventValues(change, next)
  const keys = change.events.flatMap(({ writtenFor }) => writtenFor ?? [])
  const set = { ...change.set, care_due_at: next.care_due_at }
  const values = { ...columnValues(set), id: seen.id, seen: seen.version, ...headOf(next) }
  const columns = Object.keys(set)
  const more = {
    ...values,
    ...receiptValues(change, next),
    ...Object.fromEntries(keys.map((key, at) => [`k${at}`, key])),
  }
  if (scope.db.name === 'postgres') {
    const shape = shapeOf({ columns, events: events.length, keys: keys.length, receipt: change.receipt !== undefined })
    const rows = await unlessTaken(() => shape(scope, { ...more, ...flat(events) }))
    return rows?.length === 1 ? next : null
  }
  return scope.db.transaction(async () => {
    if (change.receipt !== undefined && (await hasReceipt(scope, more)).length > 0) return null
    const rows = await onSqlite(updateText(columns, keys.length))(scope, more)
    if (rows.length === 0) return null
    for (const event of events) await addEvent(scope, { ...event, id: seen.id, now: change.now })
    if (change.receipt !== undefined) await addReceipt(scope, more)
    return next
  })
}

/** What {@link insertConversation} came to. */
export type Inserted =
  | { readonly kept: ConversationRow }
  /** `taken`: its message was accepted before or at this moment. `gone`: the Session was. */
  | { readonly kept: null; readonly because: 'taken' | 'gone' }

/** Keeps a conversation with its first events and its first message's receipt. `seen` is the row before anything happened. */
export async function insertConversation(
  scope: Scope,
  change: Change & { readonly receipt: NewReceipt },
): Promise<Inserted> {
  const next = nextOf(change)
  const events = eventValues(change, next)
  const values: Values = { ...next, ...headOf(next), ...receiptValues(change, next) }
  if (scope.db.name === 'postgres') {
    const rows = await unlessTaken(() => insertShape(events.length)(scope, { ...values, ...flat(events) }))
    if (rows === null) return { kept: null, because: 'taken' }
    return rows.length === 1 ? { kept: next } : { kept: null, because: 'gone' }
  }
  return scope.db.transaction(async () => {
    if ((await hasReceipt(scope, values)).length > 0) return { kept: null, because: 'taken' }
    // An erasure at the same moment finds the conversation, or has it find no Session.
    const rows = await addConversation(scope, values)
    if (rows.length === 0) return { kept: null, because: 'gone' }
    for (const event of events) await addEvent(scope, { ...event, id: next.id, now: change.now })
    await addReceipt(scope, values)
    return { kept: next }
  })
}

/** What {@link withConversation} came to. */
export interface Settled {
  /** As it is after the change, or as it was found where there was none. */
  readonly row: ConversationRow
  readonly isChanged: boolean
}

/** How often a change is decided again before it is given up: each time, somebody else's was made. */
const mostTries = 50

/**
 * Reads a conversation, has a change decided, and makes it; where something else happens meanwhile, all of it again. Null
 * when there is no such conversation. `decide` is pure: it gives the change, or null for none, or throws. A change with an
 * event that is written already is none. After the commit whoever waits is told, and a turn that is due is begun.
 * @param seen the row as it was read a moment ago, which saves a round trip
 */
export async function withConversation(
  parts: ConversationParts,
  id: string,
  decide: (row: ConversationRow) => (Decision & { readonly receipt?: NewReceipt }) | null,
  seen?: ConversationRow,
): Promise<Settled | null> {
  const scope = await parts.scope()
  return parts.queue.run(id, async () => {
    for (let tries = 0; tries < mostTries; tries++) {
      const row = tries === 0 && seen !== undefined ? seen : await findConversation(scope, id)
      if (row === null) return null
      const decided = decide(row)
      if (decided === null) {
        // What was seen may be old: nothing is nothing only in the row as it is.
        if (tries === 0 && seen !== undefined) continue
        return { row, isChanged: false }
      }
      const changed = await changeConversation(scope, {
        ...decided,
        seen: row,
        now: parts.now(),
        timing: parts.settings.timing,
      })
      if (changed !== null) {
        announce(parts, changed)
        return { row: changed, isChanged: true }
      }
      if (await areWritten(scope, id, decided.events)) {
        const current = await findConversation(scope, id)
        return current === null ? null : { row: current, isChanged: false }
      }
      // The same message was accepted at this moment, here or in another conversation: whoever asked finds its receipt.
      if (decided.receipt !== undefined && (await findReceipt(scope, decided.receipt)) !== null)
        return { row, isChanged: false }
    }
    throw new Error('A conversation changes faster than a change of it can be made.')
  })
}

/** Tells whoever waits that a conversation has changed, after the commit, and has its turn begun where one is due. */
export function announce(parts: ConversationParts, row: ConversationRow): void {
  parts.changes.changed(row.id)
  if (row.turn_due_at !== null && row.turn_due_at <= parts.now()) parts.begin(row.id)
}

/** Lets the changes of one conversation that this process makes follow each other, so that they don't make each other fail. */
export interface ConversationQueue {
  readonly run: <T>(id: string, work: () => Promise<T>) => Promise<T>
}

/** Makes a {@link ConversationQueue}. */
export function createConversationQueue(): ConversationQueue {
  const last = new Map<string, Promise<unknown>>()
  return {
    run(id, work) {
      const before = last.get(id)
      const mine = before === undefined ? work() : before.then(work, work)
      last.set(id, mine)
      const done = () => {
        if (last.get(id) === mine) last.delete(id)
      }
      mine.then(done, done)
      return mine
    },
  }
}

function nextOf({ seen, set, events, now, timing }: Change): ConversationRow {
  // Once all were deleted, the next one is the oldest.
  const begins = seen.first_event > seen.last_event && events.length > 0
  const next = {
    ...seen,
    ...set,
    version: seen.version + 1,
    last_event: seen.last_event + events.length,
    oldest_at: begins ? now : seen.oldest_at,
    updated_at: now,
  }
  return { ...next, care_due_at: careDue(seen, next, timing) }
}

function headOf({ last_event, oldest_at, updated_at }: ConversationRow): Values {
  return { lastEvent: last_event, oldestAt: oldest_at, now: updated_at }
}

interface EventValues {
  readonly number: number
  readonly type: string
  readonly body: string
  readonly writtenFor: string | null
}

function eventValues({ seen, events, now }: Change, next: ConversationRow): readonly EventValues[] {
  const at = new Date(now).toISOString()
  return events.map(({ writtenFor = null, isOwn = false, ...event }, index) => {
    const number = seen.last_event + index + 1
    const { type, ...members } = event
    const body = { id: eventId(next.id, number), type, created_at: at, ...members }
    return { number, type: isOwn ? `${type}.own` : type, body: JSON.stringify(body), writtenFor }
  })
}

function flat(events: readonly EventValues[]): Values {
  return Object.fromEntries(
    events.flatMap((event, at) => Object.entries(event).map(([name, value]) => [`${name}${at}`, value])),
  )
}

function columnValues(set: ConversationSet): Values {
  return Object.fromEntries(Object.entries(set).map(([name, value]) => [`set_${name}`, value]))
}

function receiptValues({ receipt, seen }: Change, next: ConversationRow): Values {
  if (receipt === undefined) return {}
  const { clientId, userId, messageId, digest, code } = receipt
  return {
    clientId,
    userId,
    messageId,
    digest,
    code,
    answeredStatus: next.status,
    answeredResponder: next.responder,
    messageEvent: seen.last_event + 1,
  }
}

function updateText(columns: readonly string[], keys: number): string {
  const sets = columns.map((column) => `${column} = cast(:set_${column} as ${castOf(column)})`)
  const unwritten =
    keys === 0
      ? ''
      : ` and not exists (select 1 from poppy_events where company = :company and conversation_id = :id
          and written_for in (${list(keys, (at) => `cast(:k${at} as text)`)}))`
  return `update poppy_conversations
    set ${[...sets, 'version = version + 1', 'last_event = cast(:lastEvent as bigint)'].join(', ')},
      oldest_at = cast(:oldestAt as bigint), updated_at = cast(:now as bigint)
    where company = :company and id = :id and version = cast(:seen as bigint)${unwritten} returning id`
}

const list = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join(', ')

const eventColumns = '(company, conversation_id, number, type, body, written_for, created_at)'
const toldText = (events: number) => `, told as (insert into poppy_events ${eventColumns}
  select cast(:company as text), changed.id, v.number, v.type, v.body, v.written_for, cast(:now as bigint)
  from changed, (values ${list(
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

interface Shape {
  readonly columns: readonly string[]
  readonly events: number
  readonly keys: number
  readonly receipt: boolean
}

/** One statement for each set of columns and number of events: there are as many as there are rules. */
const shapes = new Map<string, Statement<Values, { readonly id: string }>>()

function shapeOf({ columns, events, keys, receipt }: Shape): Statement<Values, { readonly id: string }> {
  return kept(
    `with changed as (${updateText(columns, keys)})${events === 0 ? '' : toldText(events)}${
      receipt ? `, received as (${receiptSelect})` : ''
    } select id from changed`,
    'postgres',
  )
}

function insertShape(events: number): Statement<Values, { readonly id: string }> {
  const columns = conversationColumns
  return kept(
    `with held as (select id from poppy_sessions where company = :company and id = :session_id for key share),
    changed as (insert into poppy_conversations (company, ${columns.join(', ')})
      select cast(:company as text), ${columns.map((column) => `cast(:${column} as ${castOf(column)})`).join(', ')}
      from held returning id)${toldText(events)}, received as (${receiptSelect}) select id from changed`,
    'postgres',
  )
}

function onSqlite(text: string): Statement<Values, { readonly id: string }> {
  return kept(text, 'sqlite')
}

function kept(text: string, name: 'sqlite' | 'postgres'): Statement<Values, { readonly id: string }> {
  const known = shapes.get(text)
  if (known !== undefined) return known
  const none = 'select :company'
  const made = statement<Values, { readonly id: string }>({ sqlite: none, postgres: none, [name]: text })
  shapes.set(text, made)
  return made
}

const columnList = conversationColumns.join(', ')
const addConversation = onSqlite(`insert into poppy_conversations (company, ${columnList})
  select :company, ${conversationColumns.map((column) => `:${column}`).join(', ')}
  from poppy_sessions held where held.company = :company and held.id = :session_id returning id`)
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
