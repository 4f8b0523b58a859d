import type { Scope } from '../store/database.ts'
import type { HandoffAbout } from '../telemetry/work.ts'
import type { Outgoing } from '../webhooks/outgoing.ts'
import type { NewDelivery } from '../webhooks/store.ts'
import { careDue, type Timing } from './care.ts'
import { eventId } from './cursor.ts'
import { type EventValues, type Held, type Values, writeChange, writeNew } from './ledger-sql.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow, Decision, NewReceipt } from './row.ts'
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
  readonly receipt?: NewReceipt | undefined
  /** Each change says when the conversation has to be looked at next: what that depends on. */
  readonly timing: Timing
  /** Whose rights it was decided with, where they have to be the same at the moment at which it is made. */
  readonly holds?: Held | undefined
  /** What the company's own systems are told of it, in its transaction; null or left out: nothing. */
  readonly outgoing?: Outgoing | null | undefined
}

/**
 * Makes a change. Null when something else happened since the row was seen, when an event of it is written already, when its
 * message was accepted elsewhere at this moment, or when the rights that it holds are others by now: read, and decide again. Joins a transaction around it, which has to be
 * given up when this is null.
 */
export async function changeConversation(scope: Scope, change: Change): Promise<ConversationRow | null> {
  const { seen } = change
  const next = nextOf(change)
  const isMade = await writeChange(scope, {
    id: seen.id,
    head: { ...headOf(next), seen: seen.version },
    set: { ...change.set, care_due_at: next.care_due_at },
    events: eventValues(change, next),
    deliveries: deliveriesOf(change, next),
    receipt: change.receipt === undefined ? null : receiptValues(change.receipt, change, next),
    holds: change.holds ?? null,
  })
  return isMade ? next : null
}

/** What {@link insertConversation} came to. */
export type Inserted =
  | { readonly kept: ConversationRow }
  /** `taken`: its message was accepted before or at this moment. `gone`: the Session is, or the rights that are held are. */
  | { readonly kept: null; readonly because: 'taken' | 'gone' }

/** Keeps a conversation with its first events and its first message's receipt. `seen` is the row before anything happened. */
export async function insertConversation(
  scope: Scope,
  change: Change & { readonly receipt: NewReceipt },
): Promise<Inserted> {
  const next = nextOf(change)
  const outcome = await writeNew(scope, {
    id: next.id,
    head: headOf(next),
    set: { ...next },
    events: eventValues(change, next),
    deliveries: deliveriesOf(change, next),
    receipt: receiptValues(change.receipt, change, next),
    holds: change.holds ?? null,
  })
  return outcome === 'kept' ? { kept: next } : { kept: null, because: outcome }
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
 * @param again what is done before it is decided again: what else it was decided by may have changed, too
 */
export async function withConversation(
  parts: ConversationParts,
  id: string,
  decide: (row: ConversationRow) => (Decision & Pick<Change, 'receipt' | 'holds'>) | null,
  seen?: ConversationRow,
  again?: () => Promise<void>,
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
        outgoing: parts.outgoing,
      })
      if (changed !== null) {
        announce(parts, changed, row)
        return { row: changed, isChanged: true }
      }
      if (await areWritten(scope, id, decided.events)) {
        const current = await findConversation(scope, id)
        return current === null ? null : { row: current, isChanged: false }
      }
      // The same message was accepted at this moment, here or in another conversation: whoever asked finds its receipt.
      if (decided.receipt !== undefined && (await findReceipt(scope, decided.receipt)) !== null)
        return { row, isChanged: false }
      await again?.()
    }
    throw new Error('A conversation changes faster than a change of it can be made.')
  })
}

/**
 * Tells whoever waits that a conversation has changed, after the commit, and has its turn begun where one is due.
 * @param seen the row before the change; null for a new one
 */
export function announce(parts: ConversationParts, row: ConversationRow, seen: ConversationRow | null): void {
  parts.changes.changed(row.id)
  parts.outgoing?.poke()
  if (row.turn_due_at !== null && row.turn_due_at <= parts.now()) parts.begin(row)
  const waited = seen === null ? null : waitEnded(seen, row)
  if (waited !== null) parts.watch?.handoff(waited)
}

/** The wait for a person (7.9) that a change ended; null where it ended none. */
function waitEnded(seen: ConversationRow, row: ConversationRow): HandoffAbout | null {
  if (seen.status !== 'queued' || seen.queued_at === null || row.status === 'queued') return null
  const { id, status, responder, updated_at: until } = row
  const outcome = responder === 'human' ? 'taken' : status === 'closed' ? 'closed' : 'nobody_came'
  return { conversationId: id, since: seen.queued_at, until, outcome }
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

function eventValues({ seen, events, now }: Change, next: ConversationRow): readonly EventValues[] {
  const at = new Date(now).toISOString()
  return events.map(({ writtenFor = null, isOwn = false, ...event }, index) => {
    const number = seen.last_event + index + 1
    const { type, ...members } = event
    const body = { id: eventId(next.id, number), type, created_at: at, ...members }
    return { number, type: isOwn ? `${type}.own` : type, body: JSON.stringify(body), writtenFor }
  })
}

function deliveriesOf({ seen, events, now, outgoing }: Change, next: ConversationRow): readonly NewDelivery[] {
  return outgoing?.ofChange({ seen, next, events, now }) ?? []
}

function receiptValues(
  { clientId, userId, messageId, digest, code }: NewReceipt,
  { seen }: Change,
  next: ConversationRow,
): Values {
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
