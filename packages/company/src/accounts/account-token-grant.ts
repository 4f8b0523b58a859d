import { coversScopes, PoppyError } from '@poppyseed/protocol'
import { currentGrant, isActive } from '../sessions/rights.ts'
import { invalidSession, openSignedInSession } from '../sessions/session-grant.ts'
import { peekSession, type SessionState, signInSession } from '../sessions/store.ts'
import { narrowScopes, type TokenRequest } from '../sessions/token-request.ts'
import { type Issued, issueTokens } from '../sessions/token-response.ts'
import type { Scope } from '../store/database.ts'
import { findPresented, rotate } from './rotation.ts'
import { findGrantById, type GrantRow, noteGrantUse, scopesOf } from './store.ts'

/** The refresh grant (4.8): an Account Token gives a signed-in Session Token, for a Session named or for a new one. */

/** The refusal of 4.4: a Session never changes to another account. */
export function accountMismatch(): PoppyError {
  return new PoppyError('account_mismatch', {
    description: 'This Session belongs to another account. Start a new Session.',
  })
}

/** @throws PoppyError `invalid_grant`, `invalid_scope`, `invalid_session`, `account_mismatch`, `invalid_client` */
export async function useAccountToken(request: TokenRequest): Promise<Response> {
  const { parameters, client, scope, settings } = request
  const token = parameters.get('refresh_token')
  if (token === undefined) throw new PoppyError('invalid_request', { description: 'refresh_token is missing.' })
  const now = settings.now()
  const existing = parameters.get('session_id')
  const outcome = await scope.db.transaction(async (): Promise<PoppyError | Issued> => {
    const used = await request.claim()
    if (used) return used
    const { rotation, endsSessions } = settings
    const how = { clientId: client.clientId, rotation, now, endsSessions }
    const presented = await findPresented(scope, token, how)
    const grant = presented?.grant ?? null
    // One answer for all of these: it tells nothing about somebody else's token.
    if (
      !presented ||
      !grant ||
      grant.client_id !== client.clientId ||
      grant.revoked_at !== null ||
      (grant.expires_at !== null && grant.expires_at <= now)
    ) {
      return new PoppyError('invalid_grant', {
        description: 'The Account Token is not valid.',
        reason: grant ? 'revoked, expired or another client’s' : 'unknown, or replaced long ago',
      })
    }
    const narrowed = attempt(() => narrowScopes(parameters, scopesOf(grant)))
    if (narrowed instanceof PoppyError) return narrowed
    const signedIn = { userId: grant.user_id, grant: { id: grant.id, scopes: narrowed, expiresAt: grant.expires_at } }
    // 4.8: last of all, since a refused request leaves the Account Token as it was
    const goOn = async () => {
      const accountToken = await rotate(scope, token, presented, { rotation, now })
      return accountToken === undefined ? {} : { accountToken }
    }
    if (existing === undefined) {
      // Thrown, so that all of this transaction is undone: over a limit, a retry may bring the same assertions (4.3).
      settings.requestLimits.countSession(client.clientId, grant.user_id)
      await noteGrantUse(scope, { grantId: grant.id, now })
      const begin = { userId: grant.user_id, account: grant.account, grantId: grant.id, now }
      const ownMcpFlow = grant.sign_in === 'mcp' && request.binding.type === 'Bearer'
      const opened = await openSignedInSession(request, { ...begin, ownMcpFlow })
      return { ...opened, ...signedIn, ...(await goOn()) }
    }
    const session = await peekSession(scope, existing)
    if (!session || session.clientId !== client.clientId || session.userId !== grant.user_id)
      return invalidSession('not theirs')
    if (!isActive(session, settings.limits, now)) return invalidSession('ended')
    if (session.account !== null && session.account !== grant.account) return accountMismatch()
    await noteGrantUse(scope, { grantId: grant.id, now })
    const result = await useInSession(scope, session, grant, now)
    const after = await peekSession(scope, existing)
    // The Session was read in this transaction; should another instance have changed it since, nothing of it is kept.
    if (result === 'account_mismatch') throw accountMismatch()
    if (result === 'gone' || after === null) throw invalidSession('ended meanwhile')
    return {
      sessionId: existing,
      epoch: after.epoch,
      sessionExpiresAt: after.expiresAt,
      ...signedIn,
      ...(await goOn()),
    }
  })
  if (outcome instanceof PoppyError) throw outcome
  return issueTokens(request, outcome)
}

/** Sign-ins of one Session that may overtake each other while it is refreshed. */
const mostMoves = 5

/**
 * Gives a Session the grant that it is to have now that an Account Token was used in it. While a sign-in of another task
 * commits, the Session is looked at again: it must not be taken back from it.
 */
async function useInSession(
  scope: Scope,
  before: SessionState,
  grant: GrantRow,
  now: number,
): ReturnType<typeof signInSession> {
  let session: SessionState | null = before
  for (let moves = 0; session !== null && moves < mostMoves; moves++) {
    const result = await signInSession(scope, {
      sessionId: before.id,
      account: grant.account,
      grantId: (await isReplacedIn(scope, session, grant, now)) ? (session.grantId ?? grant.id) : grant.id,
      now,
      from: session.grantId,
    })
    if (result !== 'moved') return result
    session = await peekSession(scope, before.id)
  }
  return 'gone'
}

/**
 * 4.4: whether a later sign-in of the Session has replaced this one, with at least its rights. Then the Session stays with
 * that one, so that it stays signed in when the agent revokes the replaced Account Token. A later sign-in with fewer rights
 * replaces nothing: whoever uses the Account Token again means what it stands for.
 */
async function isReplacedIn(scope: Scope, session: SessionState, grant: GrantRow, now: number): Promise<boolean> {
  const current = currentGrant(session, now)
  if (current === null || current.id === grant.id || !coversScopes(current.scopes, scopesOf(grant))) return false
  const later = await findGrantById(scope, current.id)
  return later !== null && later.created_at > grant.created_at
}

/** A refusal that has to be returned: thrown inside a transaction it would also undo the claimed assertion. */
function attempt<T>(check: () => T): T | PoppyError {
  try {
    return check()
  } catch (error) {
    if (error instanceof PoppyError) return error
    throw error
  }
}
