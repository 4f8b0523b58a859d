import { makeId, PoppyError } from '@poppyseed/protocol'
import { accountMismatch } from '../accounts/account-token-grant.ts'
import { grantSignIn, recordSignIn } from '../accounts/grant-sign-in.ts'
import { revokeGrant, scopesOf } from '../accounts/store.ts'
import { isSameSecret, sha256 } from '../crypto/hash.ts'
import { base64urlOf } from '../crypto/random.ts'
import { isActive } from '../sessions/rights.ts'
import { invalidSession, openSignedInSession } from '../sessions/session-grant.ts'
import { peekSession, type SessionState } from '../sessions/store.ts'
import { narrowScopes, type TokenRequest } from '../sessions/token-request.ts'
import { type Issued, issueTokens } from '../sessions/token-response.ts'
import { type CodeRow, findCode, noteGrantOfCode, spendCode } from './store.ts'

/**
 * The authorization code grant: a code, once, for an Account Token and a signed-in Session Token. The Session is the one
 * that is named (4.5), or in MCP's own flow, where none can be, a new one (6).
 */

function invalidGrant(reason: string): PoppyError {
  return new PoppyError('invalid_grant', {
    description: 'The code is not valid. Ask the User to sign in again.',
    reason,
  })
}

/** @throws PoppyError `invalid_request`, `invalid_grant`, `invalid_target`, `invalid_session`, `account_mismatch`, `invalid_scope`, `invalid_client` */
export async function exchangeCode(request: TokenRequest): Promise<Response> {
  const { parameters, client, scope, settings } = request
  const read = (name: string): string => {
    const value = parameters.get(name)
    if (value === undefined) throw new PoppyError('invalid_request', { description: `${name} is missing.` })
    return value
  }
  const [code, redirectUri, verifier] = [read('code'), read('redirect_uri'), read('code_verifier')]
  const sessionId = parameters.get('session_id') ?? (request.binding.type === 'Bearer' ? null : read('session_id'))
  const { endsSessions } = settings
  const now = settings.now()
  if (client.assertion === null && (await findCode(scope, sha256(code)))?.client_id === client.clientId)
    await request.meet()

  const outcome = await scope.db.transaction(async (): Promise<PoppyError | Issued> => {
    const used = await request.claim()
    if (used) return used
    const codeHash = sha256(code)
    const found = await findCode(scope, codeHash)
    // Whoever it wasn't issued to can neither spend it nor revoke what it gave.
    if (!found || found.client_id !== client.clientId) return invalidGrant('unknown or another client’s')
    if (found.used_at !== null) {
      // 4.5, RFC 6749 4.1.2: a code that comes twice was seen by somebody; what it gave is taken back
      if (found.grant_id !== null) await revokeGrant(scope, { grantId: found.grant_id, now, endsSessions })
      return invalidGrant('used before')
    }
    if (found.expires_at <= now) return invalidGrant('expired')
    // RFC 8707: a code for one server buys nothing at another. In MCP's own flow there is always one.
    if ((found.resource !== null || sessionId === null) && found.resource !== (request.binding.resource ?? null))
      return new PoppyError('invalid_target', { description: 'The sign-in was for another resource.' })
    let session: SessionState | null = null
    if (sessionId !== null) {
      session = await peekSession(scope, sessionId)
      if (!session || session.clientId !== client.clientId || !isActive(session, settings.limits, now))
        return invalidSession('not theirs or ended')
      if (session.account !== null && session.account !== found.account) return accountMismatch()
    }
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
      if (taken?.grant_id) await revokeGrant(scope, { grantId: taken.grant_id, now, endsSessions })
      return invalidGrant('used at the same moment')
    }
    if (found.redirect_uri !== redirectUri) return invalidGrant('another redirect_uri')
    if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier) || !isSameSecret(sha256(verifier), found.code_challenge))
      return invalidGrant('wrong verifier')
    return session === null
      ? signInMcpClient(request, found, scopes, now)
      : signInNamedSession(request, session, found, scopes)
  })
  if (outcome instanceof PoppyError) throw outcome
  return issueTokens(request, outcome)
}

/** 4.5: signs the Session in that the Personal Agent named. */
async function signInNamedSession(
  request: TokenRequest,
  session: SessionState,
  code: CodeRow,
  scopes: readonly string[],
): Promise<Issued> {
  const { account } = code
  const { issued, grantId } = await grantSignIn(request, {
    session,
    account,
    approved: scopesOf(code),
    scopes,
    signIn: 'direct',
  })
  await noteGrantOfCode(request.scope, { codeHash: code.code_hash, grantId })
  return issued
}

/**
 * 6: an MCP client that knows nothing of Poppy has no User IDs, so its User gets one of ours. One that can't authenticate
 * gets no Account Token (4.8: only with a client assertion is it good for anything), and its access ends with its token.
 */
async function signInMcpClient(
  request: TokenRequest,
  code: CodeRow,
  scopes: readonly string[],
  now: number,
): Promise<Issued> {
  const { client, scope, settings } = request
  const userId = makeId('usr', settings.random)
  // 4.1: thrown, so that all of this transaction is undone and the code can be brought again
  settings.requestLimits.countSession(client.clientId, userId)
  const canRefresh = client.assertion !== null
  const lifetime = canRefresh ? settings.accountTokenLifetime : settings.tokenLifetime
  const expiresAt = lifetime === null ? null : now + lifetime
  const grantId = makeId('grt', settings.random)
  const accountToken = `pat_${base64urlOf(settings.random(32))}`
  const begun = await recordSignIn(scope, {
    id: grantId,
    client_id: client.clientId,
    user_id: userId,
    account: code.account,
    scopes: code.scopes,
    sign_in: 'mcp',
    token_hash: sha256(accountToken),
    created_at: now,
    last_used_at: now,
    expires_at: expiresAt,
    revoked_at: null,
  })
  await noteGrantOfCode(scope, { codeHash: code.code_hash, grantId })
  const begin = { userId, account: code.account, grantId, now, ownMcpFlow: true }
  return {
    ...(await openSignedInSession(request, begin)),
    grant: { id: grantId, scopes, expiresAt },
    ...(canRefresh ? { accountToken } : {}),
    begun,
  }
}
