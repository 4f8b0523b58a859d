import { formatScope, makeId } from '@poppyseed/protocol'
import { sha256 } from '../crypto/hash.ts'
import { base64urlOf } from '../crypto/random.ts'
import { invalidSession } from '../sessions/session-grant.ts'
import { peekSession, type SessionState, signInSession } from '../sessions/store.ts'
import type { TokenRequest } from '../sessions/token-request.ts'
import type { Issued } from '../sessions/token-response.ts'
import type { Scope } from '../store/database.ts'
import { accountMismatch } from './account-token-grant.ts'
import type { BegunConnection } from './connection-hook.ts'
import { type GrantRow, grantsOf, insertGrant, scopesOf } from './store.ts'

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
  const begun = await recordSignIn(scope, {
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
      begun,
    },
  }
}

/** Records what a person approved (4.4), and says what the company is to be told of it. In the transaction of the sign-in. */
export async function recordSignIn(scope: Scope, row: Omit<GrantRow, 'company'>): Promise<BegunConnection> {
  const { account, client_id: clientId } = row
  const earlier = (await grantsOf(scope, { account, now: row.created_at })).filter((one) => one.clientId === clientId)
  await insertGrant(scope, row)
  return {
    grantId: row.id,
    account,
    clientId,
    signIn: row.sign_in,
    scopes: scopesOf(row),
    connectedAt: row.created_at,
    expiresAt: row.expires_at,
    isNewAgent: earlier.length === 0,
    replaces: earlier.some(({ userId }) => userId === row.user_id),
  }
}
