import { coversScopes, intersectScopes, PoppyError } from '@poppyseed/protocol'
import type { Principal } from './principal.ts'
import type { SessionToken } from './session-token.ts'
import type { SessionState } from './store.ts'

/** What a token's holder may do now (4.3, 4.4, 4.9). Pure: `now` and the rows are handed in. */

/** How long Sessions go on. */
export interface SessionLimits {
  /** Milliseconds after its last use at which a Session ends. */
  readonly idle: number
}

/** Whether a Session may be used: not ended, within its lifetime and its idle time (4.2), and its agent not blocked (4.1). */
export function isActive(session: SessionState, limits: SessionLimits, now: number): boolean {
  return (
    session.blockedAt === null &&
    session.endedAt === null &&
    now < session.expiresAt &&
    now < session.lastUsedAt + limits.idle
  )
}

/** The sign-in that a Session has now, or null: its grant has to be there, unrevoked and unexpired (4.8, 4.9). */
export function currentGrant(session: SessionState, now: number): SessionState['grant'] {
  const { grant } = session
  if (grant === null || grant.revokedAt !== null) return null
  return grant.expiresAt === null || now < grant.expiresAt ? grant : null
}

/**
 * The Principal of a token: what it was issued with, cut down to what its Session and grant have at this moment. A
 * token from before the sign-in stays signed out, a narrowed one stays narrow, and one from before a sign-out stays
 * signed out also after the next sign-in.
 * @throws PoppyError `invalid_token` when the Session is gone, and when its agent is blocked
 */
export function principalOf(
  token: SessionToken,
  session: SessionState | null,
  limits: SessionLimits,
  now: number,
): Principal {
  // 4.1: read with the Session, so a block bites on the next request of any instance
  if (session !== null) refuseBlocked(session)
  if (
    session === null ||
    session.clientId !== token.clientId ||
    session.userId !== token.userId ||
    !isActive(session, limits, now)
  ) {
    throw new PoppyError('invalid_token', {
      description: 'The Session Token is not valid.',
      reason: 'no such active session',
    })
  }
  const grant = token.grantId !== undefined && token.epoch === session.epoch ? currentGrant(session, now) : null
  return Object.freeze({
    company: token.company,
    clientId: token.clientId,
    userId: token.userId,
    sessionId: token.sessionId,
    account: grant === null ? null : session.account,
    scopes: Object.freeze(grant === null ? [] : intersectScopes(token.scopes, grant.scopes)),
    resource: token.resource ?? null,
    grantId: grant?.id ?? null,
  })
}

/**
 * 4.1: what a blocked agent is told wherever it comes with a Session.
 * @throws PoppyError `invalid_token`
 */
export function refuseBlocked(session: SessionState): void {
  if (session.blockedAt === null) return
  throw new PoppyError('invalid_token', { description: 'The Session Token is not valid.', reason: 'client blocked' })
}

/**
 * The Principal of a Session as it stands now, whatever token is about: for the browser that follows it (5). Whether it
 * is active is for the caller to check.
 */
export function principalNow(company: string, session: SessionState, now: number): Principal {
  const grant = currentGrant(session, now)
  return Object.freeze({
    company,
    clientId: session.clientId,
    userId: session.userId,
    sessionId: session.id,
    account: grant === null ? null : session.account,
    scopes: Object.freeze(grant === null ? [] : [...grant.scopes]),
    resource: null,
    grantId: grant?.id ?? null,
  })
}

/**
 * Checks that a Principal has every scope that a request needs (6).
 * @throws PoppyError `sign_in_required` when signed out, `insufficient_scope` naming all that is needed
 */
export function requireScopes(principal: Principal, scopes: readonly string[]): void {
  if (scopes.length === 0) return
  // 6: signed out and lacking scopes are two different things to be told
  if (principal.account === null) {
    throw new PoppyError('sign_in_required', {
      description: 'This needs the User to be signed in.',
      scope: scopes.join(' '),
    })
  }
  if (!coversScopes(principal.scopes, scopes)) {
    throw new PoppyError('insufficient_scope', {
      description: 'The sign-in does not cover this.',
      scope: scopes.join(' '),
    })
  }
}
