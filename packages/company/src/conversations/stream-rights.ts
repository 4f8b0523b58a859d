import type { Principal } from '../sessions/principal.ts'
import { currentGrant, isActive, type SessionLimits } from '../sessions/rights.ts'
import type { SessionState } from '../sessions/store.ts'

/** Whether events may still be told to who asked for them a while ago (4.9, 7.2, 7.6). Pure. */

/** Who reads, as their token said when they came. */
export interface Reader {
  readonly principal: Principal
  /** How many sign-outs the token's Session had seen when it was issued. */
  readonly epoch: number
  /** When the token expires: seconds since 1970. */
  readonly expiresAt: number
}

/** How a reader stands now: `ended` where the Session or the token is over, `signed-out` where the sign-in is. */
export type ReaderStanding = 'as-before' | 'signed-out' | 'ended'

/** How a reader stands, by the Session as it is read now. */
export function standingOf(
  { principal, epoch, expiresAt }: Reader,
  session: SessionState | null,
  limits: SessionLimits,
  now: number,
): ReaderStanding {
  const { clientId, userId, account } = principal
  if (session === null || expiresAt * 1000 <= now) return 'ended'
  if (session.clientId !== clientId || session.userId !== userId || !isActive(session, limits, now)) return 'ended'
  if (account === null) return 'as-before'
  const isSignedIn = session.epoch === epoch && session.account === account && currentGrant(session, now) !== null
  return isSignedIn ? 'as-before' : 'signed-out'
}
