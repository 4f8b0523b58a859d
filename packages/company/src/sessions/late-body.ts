import { intersectScopes, PoppyError } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import type { TokenHolder } from './authenticate.ts'
import type { Principal } from './principal.ts'
import { isActive, principalNow, type SessionLimits } from './rights.ts'
import { peekSession } from './store.ts'

/** A request whose body comes late has the rights that there are when it has come whole (4.9). */

/**
 * A token that has expired while the body came is over as it is before one (4.3): whoever sent it has the right to no more.
 * @param now milliseconds since 1970
 * @throws PoppyError `invalid_token`
 */
export function requireUnexpired({ expiresAt }: Pick<TokenHolder, 'expiresAt'>, now: number): void {
  if (now < expiresAt * 1000) return
  throw new PoppyError('invalid_token', {
    description: 'The Session Token is not valid.',
    reason: 'expired before the body had come',
  })
}

/** Milliseconds in which a body comes with its request: rights of so long ago are as of now. */
const patience = 1000

/**
 * The Principal of a request whose body has come: as it was authenticated, or where that is a while ago, with the rights that
 * are left. Signed out where the sign-in is another one by now, also of the same account.
 * @param since when it was authenticated; milliseconds since 1970
 * @throws PoppyError `invalid_token` where the token or the Session is over, or its agent blocked
 */
export async function principalStill(
  { principal, expiresAt, ownMcpFlow }: TokenHolder,
  {
    scope,
    now,
    limits,
    since,
  }: {
    readonly scope: () => Promise<Scope>
    readonly now: () => number
    readonly limits: SessionLimits
    readonly since: number
  },
): Promise<Principal> {
  const time = now()
  requireUnexpired({ expiresAt }, time)
  if (time - since < patience) return principal
  const session = await peekSession(await scope(), principal.sessionId)
  if (session === null || !isActive(session, limits, time))
    throw new PoppyError('invalid_token', {
      description: 'The Session Token is not valid.',
      reason: 'ended before the body had come',
    })
  if (principal.account === null) return principal
  const { account, grantId, scopes } = principalNow(principal.company, session, time)
  const isSignedIn = account === principal.account && grantId === principal.grantId
  // 4.9: as for a token that comes signed out
  if (!isSignedIn && ownMcpFlow)
    throw new PoppyError('invalid_token', {
      description: 'The Session Token is not valid.',
      reason: 'signed out before the body had come',
    })
  if (!isSignedIn) return Object.freeze({ ...principal, account: null, scopes: Object.freeze([]), grantId: null })
  return Object.freeze({ ...principal, scopes: Object.freeze(intersectScopes(principal.scopes, scopes)) })
}
