import { makeId, PoppyError } from '@poppyseed/protocol'
import { accountMismatch } from '../accounts/account-token-grant.ts'
import { insertGrant, revokeGrant, scopesOf } from '../accounts/store.ts'
import { isSameSecret, sha256 } from '../crypto/hash.ts'
import { base64urlOf } from '../crypto/random.ts'
import { isActive } from '../sessions/rights.ts'
import { invalidSession } from '../sessions/session-grant.ts'
import { peekSession, signInSession } from '../sessions/store.ts'
import { narrowScopes, type TokenRequest } from '../sessions/token-request.ts'
import { type Issued, issueTokens } from '../sessions/token-response.ts'
import { findCode, noteGrantOfCode, spendCode } from './store.ts'

/** The authorization code grant (4.5): a code, once, for an Account Token and a signed-in Session Token. */

function invalidGrant(reason: string): PoppyError {
  return new PoppyError('invalid_grant', {
    description: 'The code is not valid. Ask the User to sign in again.',
    reason,
  })
}

/** @throws PoppyError `invalid_request`, `invalid_grant`, `invalid_session`, `account_mismatch`, `invalid_scope`, `invalid_client` */
export async function exchangeCode(request: TokenRequest): Promise<Response> {
  const { parameters, client, scope, settings } = request
  const [code, redirectUri, verifier, sessionId] = ['code', 'redirect_uri', 'code_verifier', 'session_id'].map(
    (name) => {
      const value = parameters.get(name)
      if (value === undefined) throw new PoppyError('invalid_request', { description: `${name} is missing.` })
      return value
    },
  ) as [string, string, string, string]
  const now = settings.now()

  const outcome = await scope.db.transaction(async (): Promise<PoppyError | Issued> => {
    const used = await request.claim()
    if (used) return used
    const codeHash = sha256(code)
    const found = await findCode(scope, codeHash)
    // Whoever it wasn't issued to can neither spend it nor revoke what it gave.
    if (!found || found.client_id !== client.clientId) return invalidGrant('unknown or another client’s')
    if (found.used_at !== null) {
      // 4.5, RFC 6749 4.1.2: a code that comes twice was seen by somebody; what it gave is taken back
      if (found.grant_id !== null) await revokeGrant(scope, { grantId: found.grant_id, now })
      return invalidGrant('used before')
    }
    if (found.expires_at <= now) return invalidGrant('expired')
    const session = await peekSession(scope, sessionId)
    if (!session || session.clientId !== client.clientId || !isActive(session, settings.limits, now))
      return invalidSession('not theirs or ended')
    if (session.account !== null && session.account !== found.account) return accountMismatch()
    let scopes: readonly string[]
    try {
      scopes = narrowScopes(parameters, scopesOf(found))
    } catch (error) {
      if (error instanceof PoppyError) return error
      throw error
    }
    // From here on the code is spent, right or wrong: a verifier can't be guessed at.
    if (!(await spendCode(scope, { codeHash, now }))) {
      const taken = await findCode(scope, codeHash)
      if (taken?.grant_id) await revokeGrant(scope, { grantId: taken.grant_id, now })
      return invalidGrant('used at the same moment')
    }
    if (found.redirect_uri !== redirectUri) return invalidGrant('another redirect_uri')
    if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier) || !isSameSecret(sha256(verifier), found.code_challenge))
      return invalidGrant('wrong verifier')

    const grantId = makeId('grt', settings.random)
    const accountToken = `pat_${base64urlOf(settings.random(32))}`
    const expiresAt = settings.accountTokenLifetime === null ? null : now + settings.accountTokenLifetime
    await insertGrant(scope, {
      id: grantId,
      client_id: client.clientId,
      user_id: session.userId,
      account: found.account,
      scopes: found.scopes,
      sign_in: 'direct',
      token_hash: sha256(accountToken),
      created_at: now,
      last_used_at: now,
      expires_at: expiresAt,
      revoked_at: null,
    })
    const result = await signInSession(scope, { sessionId, account: found.account, grantId, now })
    // The Session was read in this transaction; should another instance have changed it since, nothing is given.
    if (result !== 'signed_in')
      throw result === 'account_mismatch' ? accountMismatch() : invalidSession('ended meanwhile')
    await noteGrantOfCode(scope, { codeHash, grantId })
    const after = await peekSession(scope, sessionId)
    if (!after) throw invalidSession('ended meanwhile')
    return {
      sessionId,
      userId: session.userId,
      epoch: after.epoch,
      sessionExpiresAt: after.expiresAt,
      grant: { id: grantId, scopes, expiresAt },
      accountToken,
    }
  })
  if (outcome instanceof PoppyError) throw outcome
  return issueTokens(request, outcome)
}
