import { conversationLimits, PoppyError } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import { eventId, numberOf, readCursor } from './cursor.ts'
import { requireOwner } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow } from './row.ts'
import { findConversation, type StoredEvent } from './store.ts'
import { type Reader, standingOf } from './stream-rights.ts'
import { type Delivery, type ReadRow, readDelivery } from './stream-store.ts'

/** Reading events (7.5): a page after a cursor, at once or when there is news. */

/** How events are read. */
export interface HowRead {
  readonly reader: Reader
  /** The event that the reader has, or null for the beginning. */
  readonly cursor: string | null
  /** Milliseconds that the answer may be put off. */
  readonly wait: number
  /** Aborts when nobody waits any more, and when the Company closes: then it is answered as it is. */
  readonly signal: AbortSignal
}

/** A page of events, of one moment. */
export interface Page {
  readonly row: ReadRow
  readonly events: readonly StoredEvent[]
  readonly hasMore: boolean
}

const isConversationId = (id: string) => /^[A-Za-z0-9_-]{1,256}$/.test(id)

/**
 * A conversation that is the caller's, or null where there is none by this name at all.
 * @throws PoppyError `conversation_not_found`, `sign_in_required`
 */
export async function findOwn(parts: ConversationParts, id: string, principal: Principal): Promise<ConversationRow> {
  // What no id can be isn't asked for: a database may take offence.
  const row = isConversationId(id) ? await findConversation(await parts.scope(), id) : null
  requireOwner(row, principal)
  return row
}

/** A page as its answer, built of the events as they are kept (7.5). */
export function pageText({ row, events, hasMore }: Page, cursor: string | null): string {
  const last = events.at(-1)
  const next = last === undefined ? cursor : eventId(row.id, last.number)
  const { id, status, responder } = row
  const rest = JSON.stringify({ cursor: next, has_more: hasMore, status, responder }).slice(1)
  return `{"conversation_id":${JSON.stringify(id)},"events":[${events.map(({ body }) => body).join(',')}],${rest}`
}

/**
 * Reads the events after a cursor (7.5), and waits for news where there is none. Own messages and the `working` that they
 * cause are none (reading 19), and what is closed has none any more. Session, sign-in and owner are looked at together with
 * each read of events, as of the same moment.
 * @throws PoppyError `invalid_cursor`, `cursor_expired`, `conversation_not_found`; `invalid_token` where the Session or the
 * token ended in a wait, `sign_in_required` where the sign-in did and the conversation used the account (4.9, 7.11)
 */
export async function readEvents(parts: ReadingParts, id: string, how: HowRead): Promise<Page> {
  const { reader, wait, signal } = how
  const first = await look(parts, id, how)
  if (wait === 0 || isAnswer(first)) return first
  const { sessionId: session, clientId: client } = reader.principal
  const leave = parts.changes.enter({ session, client })
  if (leave === null) return first
  const ear = {}
  parts.listening.note(ear, first.row)
  try {
    const end = performance.now() + wait
    let seen = first.row.last_event
    for (;;) {
      // Watched before it is read: what is written between the two is not missed.
      const watch = parts.changes.watch(id, seen)
      try {
        const page = await look(parts, id, how)
        seen = page.row.last_event
        parts.listening.note(ear, page.row)
        const left = end - performance.now()
        if (isAnswer(page) || left <= 0 || signal.aborted) return page
        await watch.within(left, signal)
      } finally {
        watch.release()
      }
    }
  } finally {
    leave()
    parts.listening.leave(ear)
  }
}

type ReadingParts = Pick<ConversationParts, 'scope' | 'now' | 'changes' | 'listening' | 'sessionLimits'>

async function look(parts: ReadingParts, id: string, { reader, cursor }: HowRead): Promise<Page> {
  const { sessionId } = reader.principal
  // Whether it is a cursor of this conversation is known once that is read.
  const asked = { id, after: numberOf(cursor), limit: conversationLimits.page, sessionId }
  const found = isConversationId(id) ? await readDelivery(await parts.scope(), asked) : null
  requireReader(parts, found, reader)
  const { row } = found
  const after = readCursor(row, cursor)
  const events = fitting(found.events)
  return { row, events, hasMore: (events.at(-1)?.number ?? after) < row.last_event }
}

/** Characters of events in a page: a reader takes an answer of several megabytes, and not of any size. */
const mostOnPage = 1_048_576

/** As many as fit on a page; one at least. */
function fitting(events: readonly StoredEvent[]): readonly StoredEvent[] {
  let left = mostOnPage
  const end = events.findIndex(({ body }, at) => {
    left -= body.length
    return left < 0 && at > 0
  })
  return end < 0 ? events : events.slice(0, end)
}

/** 4.9: whoever was signed out while they waited isn't told what came then. */
function requireReader(
  { sessionLimits, now }: ReadingParts,
  found: Delivery | null,
  reader: Reader,
): asserts found is Delivery {
  const standing = found === null ? 'as-before' : standingOf(reader, found.session, sessionLimits, now())
  if (standing === 'ended')
    throw new PoppyError('invalid_token', { description: 'The Session Token is not valid.', reason: 'ended in a wait' })
  const { principal } = reader
  requireOwner(found?.row ?? null, standing === 'signed-out' ? { ...principal, account: null } : principal)
}

function isAnswer({ row, events, hasMore }: Page): boolean {
  return hasMore || row.status === 'closed' || events.some(({ isNews }) => isNews)
}
