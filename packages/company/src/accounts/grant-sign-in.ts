import { formatScope, makeId } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import { base64urlOf } from '../crypto/random.ts'
import { invalidSession } from '../sessions/session-grant.ts'
import { peekSession, type SessionState, signInSession } from '../sessions/store.ts'
import type { TokenRequest } from '../sessions/token-request.ts'
import type { Issued } from '../sessions/token-response.ts'
import { accountMismatch } from './account-token-grant.ts'
import { insertGrant } from './store.ts'

/** How every type of sign-in ends (4.4): an Account Token, and the Session signed in. */

/** What a person approved, and for which Session. */
export interface ApprovedSignIn {
  /** As it was read in this transaction. */
  readonly session: SessionState
  readonly account: string
  /** What the Account Token stands for. */
  readonly approved: readonly string[]
  /** What this Session Token gets of it. */
  readonly scopes: readonly string[]
  readonly signIn: 'direct' | 'device' | 'mediated'
}

/**
 * Records the sign-in and signs the Session in. Inside the transaction that spent whatever stood for the approval.
 * @throws PoppyError when the Session has changed meanwhile: then nothing of the transaction may be kept
 */
export async function grantSignIn(
  {
    client,
    scope,
    settings,
  }: Pick<TokenRequest, 'scope' | 'settings'> & { readonly client: { readonly clientId: string } },
  { session, account, approved, scopes, signIn }: ApprovedSignIn,
): Promise<{ readonly issued: Issued; readonly grantId: string }> {
  const now = settings.now()
  const grantId = makeId('grt', settings.random)
  const accountToken = `pat_${base64urlOf(settings.random(32))}`
  const expiresAt = settings.accountTokenLifetime === null ? null : now + settings.accountTokenLifetime
  await insertGrant(scope, {
    id: grantId,
    client_id: client.clientId,
    user_id: session.userId,
    account,
    scopes: formatScope(approved),
    sign_in: signIn,
    token_hash: sha256(accountToken),
    created_at: now,
    last_used_at: now,
    expires_at: expiresAt,
    revoked_at: null,
  })
  const result = await signInSession(scope, { sessionId: session.id, account, grantId, now })
  // The Session was read in this transaction; should another instance have changed it since, nothing is given.
  if (result !== 'signed_in')
    throw result === 'account_mismatch' ? accountMismatch() : invalidSession('ended meanwhile')
  const after = await peekSession(scope, session.id)
  if (!after) throw invalidSession('ended meanwhile')
  return {
    grantId,
    issued: {
      sessionId: session.id,
      userId: session.userId,
      epoch: after.epoch,
      sessionExpiresAt: after.expiresAt,
      grant: { id: grantId, scopes, expiresAt },
      accountToken,
    },
  }
}
