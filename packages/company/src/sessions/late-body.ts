import { intersectScopes, PoppyError } from '@poppyseed/protocol'
import type { Scope } from '../store/database.ts'
import type { TokenHolder } from './authenticate.ts'
import type { Principal } from './principal.ts'
import { isActive, principalNow, type SessionLimits } from './rights.ts'
import { peekSession } from './store.ts'

/** A request whose body comes late has the rights that there are when it has come whole (4.9). */

/** Milliseconds in which a body comes with its request: rights of so long ago are as of now. */
const patience = 1000

/**
 * A token that has expired while the body came is over as it is before one (4.3), and so is one of a Personal Agent that the
 * configuration keeps out by then (4.1): whoever sent it has the right to no more.
 * @param when both in milliseconds since 1970; `since`: when it was authenticated
 * @returns whether the body came late, so that the Session may be another one as well
 * @throws PoppyError `invalid_token`
 */
export async function requireStillGood(
  { expiresAt, isAdmitted }: Pick<TokenHolder, 'expiresAt' | 'isAdmitted'>,
  { now, since }: { readonly now: number; readonly since: number },
): Promise<boolean> {
  const refuse = (reason: string) =>
    new PoppyError('invalid_token', { description: 'The Session Token is not valid.', reason })
  if (now >= expiresAt * 1000) throw refuse('expired before the body had come')
  const isLate = now - since >= patience
  if (isLate && !(await isAdmitted())) throw refuse('client not admitted once the body had come')
  return isLate
}

/**
 * The Principal of a request whose body has come: as it was authenticated, or where that is a while ago, with the rights that
 * are left. Signed out where the sign-in is another one by now, also of the same account.
 * @param since when it was authenticated; milliseconds since 1970
 * @throws PoppyError `invalid_token` where the token or the Session is over, or its agent blocked
 */
export async function principalStill(
  holder: TokenHolder,
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
  const { principal, ownMcpFlow } = holder
  const time = now()
  if (!(await requireStillGood(holder, { now: time, since }))) return principal
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
