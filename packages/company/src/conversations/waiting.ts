import { PoppyError } from '@poppyseed/protocol'
import { requireOwner } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import { type Reader, standingOf } from './stream-rights.ts'
import { type Delivery, readDelivery } from './stream-store.ts'

/** A read that is held until there is an event to return, or its time is up (7.5). */

/** How {@link waitForEvents} is asked. */
export interface WaitOptions {
  /** The number of the event after which it reads. */
  readonly after: number
  /** How many events it reads at most. */
  readonly limit: number
  readonly milliseconds: number
  readonly reader: Reader
  /** Aborts when nobody waits any more, or the Company closes: then it is answered as it is. */
  readonly signal: AbortSignal
}

/** A conversation with its next events, as of one moment. */
export type Waited = Pick<Delivery, 'row' | 'events'>

/** Whether events end a wait: the Personal Agent's own messages and the `working` that they cause don't (reading 19). */
const areNews = ({ events, row }: Waited, limit: number) =>
  row.status === 'closed' || events.length >= limit || events.some((event) => event.isNews)

/**
 * Waits for events that are worth an answer, and reads them. Session, sign-in and owner are looked at together with each read.
 * @throws PoppyError `invalid_token` where the Session or the token has ended meanwhile, `sign_in_required` where the sign-in
 * has and the conversation used the account (4.9, 7.11), `conversation_not_found` where it was deleted
 */
export async function waitForEvents(
  parts: Pick<ConversationParts, 'scope' | 'now' | 'changes' | 'sessionLimits'>,
  id: string,
  { after, limit, milliseconds, reader, signal }: WaitOptions,
): Promise<Waited> {
  const { sessionId } = reader.principal
  const scope = await parts.scope()
  const end = performance.now() + milliseconds
  const leave = milliseconds > 0 ? parts.changes.enter(sessionId) : null
  try {
    for (;;) {
      // Watched before it is read: what is written between the two is not missed.
      const watch = parts.changes.watch(id, after)
      try {
        const found = await readDelivery(scope, { id, after, limit, sessionId })
        requireReader(parts, found, reader)
        const left = end - performance.now()
        if (leave === null || left <= 0 || signal.aborted || areNews(found, limit)) return found
        await watch.within(left, signal)
      } finally {
        watch.release()
      }
    }
  } finally {
    leave?.()
  }
}

/** 4.9: whoever was signed out while they waited isn't told what came then. */
function requireReader(
  parts: Pick<ConversationParts, 'now' | 'sessionLimits'>,
  found: Delivery | null,
  reader: Reader,
): asserts found is Delivery {
  const standing = found === null ? 'as-before' : standingOf(reader, found.session, parts.sessionLimits, parts.now())
  if (standing === 'ended')
    throw new PoppyError('invalid_token', { description: 'The Session Token is not valid.', reason: 'ended in a wait' })
  const { principal } = reader
  requireOwner(found?.row ?? null, standing === 'signed-out' ? { ...principal, account: null } : principal)
}
