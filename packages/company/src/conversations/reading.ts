import { conversationLimits, PoppyError } from '@poppyseed/protocol'
import type { Principal } from '../sessions/principal.ts'
import { isActive, principalNow } from '../sessions/rights.ts'
import { peekSession } from '../sessions/store.ts'
import { eventId, readCursor } from './cursor.ts'
import { requireOwner } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import type { ConversationRow } from './row.ts'
import { eventsAfter, findConversation, type StoredEvent } from './store.ts'

/** Reading events (7.5): a page after a cursor, at once or when there is news. */

/** How events are read. */
export interface HowRead {
  readonly principal: Principal
  /** The event that the reader has, or null for the beginning. */
  readonly cursor: string | null
  /** Milliseconds that the answer may be put off. */
  readonly wait: number
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal
}

/** A page of events, of one moment. */
export interface Page {
  readonly row: ConversationRow
  readonly events: readonly StoredEvent[]
  readonly hasMore: boolean
  /** The number of the last event that the reader has then. */
  readonly until: number
}

/**
 * A conversation that is the caller's, or null where there is none by this name at all.
 * @throws PoppyError `conversation_not_found`, `sign_in_required`
 */
export async function findOwn(parts: ConversationParts, id: string, principal: Principal): Promise<ConversationRow> {
  // What no id can be isn't asked for: a database may take offence.
  const row = /^[A-Za-z0-9_-]{1,256}$/.test(id) ? await findConversation(await parts.scope(), id) : null
  requireOwner(row, principal)
  return row
}

/** A page as it is: up to {@link conversationLimits.page} events. */
export async function pageAfter(parts: ConversationParts, row: ConversationRow, after: number): Promise<Page> {
  const events = await eventsAfter(await parts.scope(), row, { after, limit: conversationLimits.page })
  const until = events.at(-1)?.number ?? after
  return { row, events, until, hasMore: events.length > 0 && until < row.last_event }
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
 * Reads the events after a cursor (7.5), and waits for news where there is none. Own messages are none (reading 19), and what is
 * closed has none any more.
 * @throws PoppyError `invalid_cursor`, `cursor_expired`; after a wait also whatever keeps the caller out by then
 */
export async function readEvents(parts: ConversationParts, id: string, how: HowRead): Promise<Page> {
  const { principal, cursor, wait, signal } = how
  const first = await look()
  if (wait === 0 || isAnswer(first)) return first
  const leave = parts.changes.enter(principal.sessionId)
  if (leave === null) return first
  try {
    const end = performance.now() + wait
    let page = first
    for (;;) {
      // Watched before it is read: what changes between the two is not missed.
      const watch = parts.changes.watch(id, page.row.last_event)
      try {
        page = await look()
        const left = end - performance.now()
        if (isAnswer(page) || left <= 0 || signal.aborted) break
        await watch.within(left, signal)
      } finally {
        watch.release()
      }
    }
    // 4.9: whoever was signed out meanwhile isn't told what happened
    await requireStill(parts, principal)
    return page
  } finally {
    leave()
  }

  async function look(): Promise<Page> {
    const row = await findOwn(parts, id, principal)
    return pageAfter(parts, row, readCursor(row, cursor))
  }
}

function isAnswer({ row, events, hasMore }: Page): boolean {
  return hasMore || row.status === 'closed' || events.some(({ isNews }) => isNews)
}

async function requireStill(parts: ConversationParts, principal: Principal): Promise<void> {
  const session = await peekSession(await parts.scope(), principal.sessionId)
  const now = parts.now()
  if (session === null || !isActive(session, parts.sessionLimits, now))
    throw new PoppyError('invalid_token', {
      description: 'The Session Token is not valid.',
      reason: 'ended in a wait',
    })
  if (principal.account === null) return
  const { account, grantId } = principalNow(principal.company, session, now)
  if (account !== principal.account || grantId === null)
    throw new PoppyError('sign_in_required', { description: 'This needs the User to be signed in.' })
}
