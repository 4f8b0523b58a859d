import {
  checkClientAssertion,
  checkSessionAssertion,
  clientAssertionType,
  PoppyError,
  readJwt,
  readTime,
  type UnverifiedJwt,
} from '@poppyseed/protocol'
import type { Agents, KnownAgent } from './agents.ts'
import { type Findings, isOfOurClock } from './conduct.ts'
import type { Exchange } from './exchange.ts'
import type { Ledger } from './ledger.ts'

/** Client assertions (4.1) and Session assertions (4.2): what is wrong with them, and then whether they pass. */

/** What assertions are checked against. */
export interface AssertionParts {
  readonly agents: Agents
  readonly ledger: Ledger
  readonly findings: Findings
  readonly tokenEndpoint: string
}

/** An authenticated client. */
export interface Client extends KnownAgent {
  readonly clientId: string
}

/** Seconds that an assertion may live: more than any implementation that we know of needs. */
const maxLifetime = 300
const skew = 5
/** 128 bits in base64url. */
const shortestId = 22

/**
 * Authenticates the client (4.1).
 * @param audiences what `aud` may name here
 * @throws PoppyError `invalid_client`
 */
export async function authenticateClient(
  exchange: Exchange,
  audiences: readonly string[],
  parts: AssertionParts,
): Promise<Client> {
  const { report } = parts.findings
  const rule = exchange.route === 'revoke' ? '4.9.revoke-agent' : '4.1.private-key-jwt-agent'
  const clientId = exchange.form.get('client_id') ?? ''
  const assertion = exchange.form.get('client_assertion')
  if (clientId === '' || !assertion || exchange.form.get('client_assertion_type') !== clientAssertionType) {
    report(rule, 'client_id, client_assertion or its type is missing', exchange)
    throw new PoppyError('invalid_client', { description: 'The client assertion is missing.' })
  }
  const agent = await parts.agents.find(clientId, exchange)
  const jwt = readJwt(assertion)
  if (typeof jwt === 'string') report(rule, `the client assertion can't be read: ${jwt}`, exchange)
  else judge(jwt, 'client assertion', exchange, parts)
  try {
    const checked = await checkClientAssertion(assertion, {
      clientId,
      audiences,
      now: exchange.now / 1000,
      skew,
      maxLifetime,
      findKeys: agent.findKeys,
    })
    spend(parts, 'client', clientId, checked.id, exchange, 'invalid_client')
  } catch (error) {
    // Which `aud` a revocation endpoint takes is no agent's fault to guess wrong.
    const isGuess = typeof jwt !== 'string' && jwt.payload.aud !== undefined && exchange.route === 'revoke'
    if (
      error instanceof PoppyError &&
      error.reason !== 'used before' &&
      !isGuess &&
      !isOfOurClock(error.reason, exchange)
    )
      report(rule, `the client assertion was refused: ${error.reason ?? error.code}`, exchange)
    throw error
  }
  return { ...agent, clientId }
}

/**
 * Checks the Session assertion (4.2).
 * @returns the User ID
 * @throws PoppyError `invalid_grant`
 */
export async function checkUser(exchange: Exchange, client: Client, parts: AssertionParts): Promise<string> {
  const { report } = parts.findings
  const assertion = exchange.form.get('assertion')
  if (!assertion) {
    report('4.2.three-parts-agent', 'assertion is missing', exchange)
    throw new PoppyError('invalid_request', { description: 'assertion is missing.' })
  }
  const jwt = readJwt(assertion)
  if (typeof jwt !== 'string') {
    judge(jwt, 'Session assertion', exchange, parts)
    if (jwt.payload.aud !== parts.tokenEndpoint)
      report('4.2.aud-exact-agent', 'aud of the Session assertion is not the token endpoint as one string', exchange)
    if (/@|^\+?[\d\s-]{7,}$/.test(String(jwt.payload.sub)))
      report('4.2.user-id-not-personal', 'the User ID looks like an address or a number of a person', exchange)
  }
  const checked = await checkSessionAssertion(assertion, {
    clientId: client.clientId,
    tokenEndpoint: parts.tokenEndpoint,
    now: exchange.now / 1000,
    skew,
    maxLifetime,
    findKeys: client.findKeys,
  })
  spend(parts, 'session', client.clientId, checked.id, exchange, 'invalid_grant')
  return checked.userId
}

/** Judges what no refusal names exactly: how long it lives, and its id. */
function judge({ payload }: UnverifiedJwt, what: string, exchange: Exchange, { findings }: AssertionParts): void {
  const [issued, expires] = [readTime(payload, 'iat'), readTime(payload, 'exp')]
  if (issued !== undefined && expires !== undefined && expires - issued > maxLifetime)
    findings.report('4.2.exp-short-agent', `the ${what} lives ${expires - issued} s`, exchange)
  if (typeof payload.jti !== 'string' || payload.jti.length < shortestId)
    findings.report('4.2.jti-random-agent', `jti of the ${what} is too short for 128 random bits`, exchange)
}

function spend(
  { ledger, findings }: AssertionParts,
  kind: 'client' | 'session',
  owner: string,
  id: string,
  exchange: Exchange,
  code: 'invalid_client' | 'invalid_grant',
): void {
  const key = `${kind} ${owner} ${id}`
  if (ledger.seen.has(key)) {
    findings.report('4.2.jti-random-agent', `the jti of a ${kind} assertion came twice`, exchange)
    throw new PoppyError(code, { description: 'The assertion was used before.', reason: 'used before' })
  }
  ledger.seen.add(key)
}
