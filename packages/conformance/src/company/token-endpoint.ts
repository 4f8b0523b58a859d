import { grantTypes, PoppyError } from '@poppyseed/protocol'
import { type Reply, reply } from '../delivery.ts'
import { type AssertionParts, authenticateClient, type Client, checkUser } from './assertions.ts'
import { hadHeard } from './conduct.ts'
import { pollDevice } from './device.ts'
import type { Exchange } from './exchange.ts'
import { type GrantRecord, type Ledger, random, revoke, type SessionRecord, sha256 } from './ledger.ts'
import type { Proofs } from './proofs.ts'

/** The token endpoint with its four grants (4.2, 4.5, 4.6, 4.8), and the revocation endpoint (4.9). */

/** What both endpoints work with. */
export interface TokenParts extends AssertionParts {
  readonly proofs: Proofs
  readonly issuer: string
  readonly revocationEndpoint: string
  readonly mcpUrl: string
  readonly openapiResource: string
}

/** What a grant gives before a token is made of it. */
export interface Given {
  readonly userId: string
  readonly grant: { readonly token: string; readonly record: GrantRecord } | null
  /** The Account Token to tell, where there is a new one. */
  readonly newAccountToken?: string
}

/** `POST` to the token endpoint. */
export async function answerTokenRequest(exchange: Exchange, parts: TokenParts): Promise<Reply> {
  const { form } = exchange
  const client = await authenticateClient(exchange, [parts.tokenEndpoint, parts.issuer], parts)
  const resource = form.get('resource')
  const thumbprint = await binding(exchange, resource, parts)
  const grantType = form.get('grant_type')
  if (grantType !== grantTypes.jwtBearer) refuseAsTold(exchange)
  const session = sessionOf(exchange, client, parts)
  const given =
    grantType === grantTypes.jwtBearer
      ? { userId: await checkUser(exchange, client, parts), grant: null }
      : grantType === grantTypes.refreshToken
        ? useAccountToken(exchange, client, session, parts)
        : grantType === grantTypes.authorizationCode
          ? exchangeCode(exchange, client, session, thumbprint, parts)
          : grantType === grantTypes.deviceCode
            ? useDeviceCode(exchange, client, session, parts)
            : null
  if (given === null) throw new PoppyError('unsupported_grant_type')
  refuseAsTold(exchange)
  if (session && session.userId !== given.userId) throw new PoppyError('invalid_session')
  if (session?.account != null && given.grant && session.account !== given.grant.record.account)
    throw new PoppyError('account_mismatch')
  keepKey(exchange, thumbprint, client.clientId, given.userId, parts)
  const sessionId = form.get('session_id') ?? random('ses_')
  const found = session ?? { clientId: client.clientId, userId: given.userId, account: null, grant: null, ended: false }
  return reply(200, issueTokens(exchange, found, given, sessionId, { thumbprint, resource }, parts), {
    'cache-control': 'no-store',
  })
}

/** 4.3: what the token will be bound to. Null for Bearer. */
async function binding(exchange: Exchange, resource: string | null, parts: TokenParts): Promise<string | null> {
  if (exchange.headers.dpop !== undefined) return parts.proofs.check(exchange)
  if (resource !== parts.mcpUrl) {
    parts.findings.report('4.3.bearer-resource-agent', 'neither a proof nor the MCP server as resource', exchange)
    throw new PoppyError('invalid_dpop_proof')
  }
  return null
}

function refuseAsTold({ switches }: Exchange): void {
  if (switches.refuse !== null) throw new PoppyError(switches.refuse)
}

function sessionOf(exchange: Exchange, client: Client, { ledger, findings }: TokenParts): SessionRecord | null {
  const id = exchange.form.get('session_id')
  if (id === null) return null
  const ending = ledger.endings.get(id)
  if (ending && hadHeard(ending.by, exchange)) {
    const token = exchange.form.get('refresh_token')
    const account = token === null ? null : (ledger.grants.get(token)?.account ?? null)
    if (ending.error === 'invalid_session')
      findings.report('4.2.session-ended-agent', 'the Session was used again after invalid_session', exchange)
    else if (account !== null && account === ending.account)
      findings.report('4.4.account-mismatch-agent', 'the Session was asked again for the other account', exchange)
  }
  const session = ledger.sessions.get(id)
  if (!session || session.ended || session.clientId !== client.clientId) throw new PoppyError('invalid_session')
  return session
}

/** 4.8. */
function useAccountToken(
  exchange: Exchange,
  client: Client,
  session: SessionRecord | null,
  { ledger, findings: { report } }: TokenParts,
): Given {
  const token = exchange.form.get('refresh_token') ?? ''
  const record = ledger.grants.get(token)
  if (!record || record.clientId !== client.clientId) throw new PoppyError('invalid_grant')
  if (record.refused && hadHeard(record.refused, exchange))
    report('4.8.invalid-grant-agent', 'the Account Token was used again after invalid_grant', exchange)
  if (record.successor && hadHeard(record.successor.by, exchange))
    report('4.8.rotation-agent', 'the old Account Token was used after a new one was given', exchange)
  if (session && session.userId !== record.userId) throw new PoppyError('invalid_session')
  if (record.state === 'live') {
    if (exchange.switches.rotation === 'off') return { userId: record.userId, grant: { token, record } }
    const newAccountToken = random('pat_')
    const next: GrantRecord = { ...record, state: 'live', successor: null, refused: null, running: 0 }
    ledger.grants.set(newAccountToken, next)
    record.state = 'replaced'
    record.successor = { by: exchange, what: newAccountToken }
    return { userId: record.userId, grant: { token: newAccountToken, record: next }, newAccountToken }
  }
  const successor = record.successor?.what
  const next = successor === undefined ? undefined : ledger.grants.get(successor)
  if (record.state === 'replaced' && exchange.switches.rotation === 'grace' && next && successor !== undefined)
    return { userId: record.userId, grant: { token: successor, record: next }, newAccountToken: successor }
  if (record.state === 'replaced') revoke(ledger, token)
  throw new PoppyError('invalid_grant')
}

/** 4.5. */
function exchangeCode(
  exchange: Exchange,
  client: Client,
  session: SessionRecord | null,
  thumbprint: string | null,
  { ledger, findings: { report } }: TokenParts,
): Given {
  const { form } = exchange
  const code = ledger.codes.get(form.get('code') ?? '')
  if (!form.get('code_verifier')) report('4.5.pkce-agent', 'the code came without its verifier', exchange)
  if (code?.mustNotCome === 'iss') report('4.5.iss-exact-agent', 'the code was sent after a wrong iss', exchange)
  if (code?.mustNotCome === 'state') report('4.5.state-agent', 'the code was sent after a wrong state', exchange)
  if (session === null) {
    report('4.5.session-id-agent', 'the code came without session_id', exchange)
    throw new PoppyError('invalid_request')
  }
  if (thumbprint === null) report('4.5.session-id-agent', 'the code came without a proof', exchange)
  if (!code || code.clientId !== client.clientId) throw new PoppyError('invalid_grant')
  if (code.used) {
    if (code.usedBy !== null) revoke(ledger, code.usedBy)
    throw new PoppyError('invalid_grant')
  }
  code.used = true
  const isRight =
    code.redirectUri === form.get('redirect_uri') && code.challenge === sha256(form.get('code_verifier') ?? '')
  if (!isRight) throw new PoppyError('invalid_grant')
  const before = session.grant === null ? undefined : ledger.grants.get(session.grant)
  if (before && !before.scopes.every((scope) => code.asked.includes(scope)))
    report('4.4.all-scopes-agent', 'the sign-in asked for less than the Session had', exchange)
  const given = newGrant(ledger, session, { account: code.account, scopes: code.granted })
  code.usedBy = given.newAccountToken ?? null
  return given
}

/** 4.6. */
function useDeviceCode(exchange: Exchange, client: Client, session: SessionRecord | null, parts: TokenParts): Given {
  const device = pollDevice(exchange, client.clientId, parts)
  if (session === null) throw new PoppyError('invalid_request')
  if (session.account !== null && session.account !== device.account) throw new PoppyError('account_mismatch')
  refuseAsTold(exchange)
  device.used = true
  return newGrant(parts.ledger, session, { account: device.account, scopes: device.granted })
}

/** A new Account Token for a Session's User (4.4). */
export function newGrant(
  ledger: Ledger,
  { clientId, userId }: SessionRecord,
  { account, scopes }: Pick<GrantRecord, 'account' | 'scopes'>,
): Given {
  const token = random('pat_')
  const record: GrantRecord = {
    clientId,
    userId,
    account,
    scopes,
    state: 'live',
    successor: null,
    refused: null,
    running: 0,
  }
  ledger.grants.set(token, record)
  return { userId, grant: { token, record }, newAccountToken: token }
}

/** 4.3: one key pair for one User. */
function keepKey(
  exchange: Exchange,
  thumbprint: string | null,
  clientId: string,
  userId: string,
  { ledger, findings }: TokenParts,
): void {
  if (thumbprint === null) return
  const user = `${clientId} ${userId}`
  const known = ledger.userOfKey.get(thumbprint)
  if (known !== undefined && known !== user)
    findings.report('4.3.key-per-user-agent', 'two Users have one DPoP key', exchange)
  ledger.userOfKey.set(thumbprint, user)
}

/** 4.2: makes a Session Token and tells it, right or bent. */
export function issueTokens(
  exchange: Exchange,
  session: SessionRecord,
  { grant, newAccountToken }: Given,
  sessionId: string,
  { thumbprint, resource }: { readonly thumbprint: string | null; readonly resource: string | null },
  { ledger }: Pick<TokenParts, 'ledger'>,
): object {
  const { switches, now } = exchange
  ledger.sessions.set(sessionId, session)
  if (grant) Object.assign(session, { account: grant.record.account, grant: grant.token })
  const access = tokenOf(switches.tokenText)
  const scopes = grant?.record.scopes ?? []
  const type = thumbprint === null ? 'Bearer' : switches.tokenType
  ledger.tokens.set(access, {
    sessionId,
    thumbprint,
    resource,
    scopes,
    signedIn: grant !== null,
    grant: grant?.token ?? null,
    expiresAt: now + (switches.expiresIn ?? 3600) * 1000,
    issuedBy: exchange,
    usable: type?.toLowerCase() === (thumbprint === null ? 'bearer' : 'dpop'),
  })
  const whole: Record<string, unknown> = {
    access_token: access,
    ...(type === null ? {} : { token_type: type }),
    ...(switches.expiresIn === null ? {} : { expires_in: switches.expiresIn }),
    scope: scopes.join(' '),
    session_id: sessionId,
    signed_in: grant !== null,
    ...(newAccountToken === undefined ? {} : { refresh_token: newAccountToken, refresh_token_expires_in: 86_400 }),
  }
  return bent(whole, switches.tokenAnswer)
}

function bent(answer: Record<string, unknown>, how: Exchange['switches']['tokenAnswer']): object {
  const { session_id: _, ...noSession } = answer
  const { scope: __, ...noScope } = answer
  switch (how) {
    case 'whole':
      return answer
    case 'no_session_id':
      return noSession
    case 'no_scope':
      return noScope
    case 'wrong_types':
      return { ...answer, expires_in: '3600', signed_in: 'yes' }
    case 'unknown_members':
      return { ...answer, authorization_details: [{ type: 'x' }], constructor: 'x', id_token: null }
  }
}

function tokenOf(text: Exchange['switches']['tokenText']): string {
  const token = random('access-')
  const forms = {
    plain: token,
    odd: `${token}-._~+/==`,
    line_break: `${token}\r\nx-injected: 1`,
    not_ascii: `${token}💥é`,
    empty: '',
    huge: token + 'a'.repeat(40_000),
  }
  return forms[text]
}

/** `POST` to the revocation endpoint (4.9). */
export async function answerRevocation(exchange: Exchange, parts: TokenParts): Promise<Reply> {
  const { tokenEndpoint, revocationEndpoint, issuer, ledger } = parts
  const audiences = {
    any: [tokenEndpoint, revocationEndpoint, issuer],
    token_endpoint: [tokenEndpoint],
    revocation_endpoint: [revocationEndpoint],
  }
  const client = await authenticateClient(exchange, audiences[exchange.switches.revocationAudience], parts)
  refuseAsTold(exchange)
  const token = exchange.form.get('token')
  if (!token) throw new PoppyError('invalid_request')
  const grant = ledger.grants.get(token)
  if (grant && grant.clientId !== client.clientId) throw new PoppyError('invalid_grant')
  if (grant) revoke(ledger, token)
  return { status: 200, headers: { 'cache-control': 'no-store' }, body: '' }
}
