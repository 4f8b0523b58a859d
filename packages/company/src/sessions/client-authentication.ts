import {
  checkClientAssertion,
  clientAssertionType,
  errorRow,
  type FormParameters,
  PoppyError,
  readJwt,
  readText,
} from '@poppyseed/protocol'
import type { AgentDirectory, KnownAgent } from '../agents/directory.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import { noteCaller } from '../telemetry/caller.ts'

/** Client authentication at the token and revocation endpoints (4.1): `private_key_jwt`. In MCP's own flow also none (6). */

/** Seconds by which the clocks of agent and Company may differ, and how long an assertion may live. */
export const assertionSkew = 30
/** Seconds that an assertion may live at most (4.2: short-lived). */
export const assertionLifetime = 300

/** Who makes a token request (4.1). */
export interface Client {
  readonly clientId: string
  readonly agent: KnownAgent
  /**
   * The assertion's `jti` and until when it could still pass (milliseconds): to be claimed together with what is given
   * for it. Null for an MCP client that can't authenticate: then nobody knows who is asking, but for what a code proves.
   */
  readonly assertion: { readonly id: string; readonly expiresAt: number } | null
}

/** What finding out about a client needs. */
export interface ClientSettings {
  readonly directory: AgentDirectory
  /** What `aud` may name: the endpoint called, the token endpoint, the issuer. */
  readonly audiences: readonly string[]
  /** Seconds since 1970. */
  readonly now: number
  /** Whether a blocked agent is heard too: it may always sign out (4.9). */
  readonly evenBlocked?: boolean
}

function refuse(reason: string): PoppyError {
  return new PoppyError('invalid_client', { description: 'Authenticate with private_key_jwt.', reason })
}

/**
 * Checks who is asking. Claims nothing: the caller claims the assertion's id together with what it gives for it.
 * @throws PoppyError `invalid_request`, `invalid_client`; for an agent that is new here also `rate_limited` and
 * `temporarily_unavailable`
 */
export async function authenticateClient(
  parameters: FormParameters,
  request: Request,
  settings: ClientSettings,
): Promise<Client> {
  refuseOtherMethods(parameters, request)
  const assertion = parameters.get('client_assertion')
  if (assertion === undefined || parameters.get('client_assertion_type') !== clientAssertionType)
    throw refuse('no client assertion')
  const clientId = parameters.get('client_id') ?? subjectOf(assertion)
  if (clientId === undefined) throw missingClientId()
  const agent = await settings.directory.find(clientId, { evenBlocked: settings.evenBlocked === true })
  const checked = await checkClientAssertion(assertion, {
    clientId,
    audiences: settings.audiences,
    now: settings.now,
    skew: assertionSkew,
    maxLifetime: assertionLifetime,
    findKeys: agent.findKeys,
  })
  noteCaller(request, { clientId })
  // 4.1: only now is it somebody: a made-up client_id never gets this far
  await settings.directory.meet(agent)
  return { clientId, agent, assertion: { id: checked.id, expiresAt: Math.ceil(checked.passesUntil * 1000) } }
}

/**
 * Finds out who is asking. Whatever is refused before that is known counts by address (4.3): the `client_id` is no more
 * than a word yet. Where too many were refused already, nothing is read at all.
 * @throws PoppyError `rate_limited`, and what `identify` throws
 */
export async function identifyClient<T>(
  request: Request,
  limits: RequestLimits,
  identify: () => Promise<T>,
): Promise<T> {
  limits.checkFailures(request)
  try {
    return await identify()
  } catch (error) {
    if (error instanceof PoppyError && errorRow(error.code).status < 500) limits.countFailure(request)
    throw error
  }
}

/**
 * Finds out who exchanges a code in MCP's own flow (6): a client that can authenticate has to, and one whose document
 * says `none` only says who it is. Its code, redirect_uri and verifier have to show that it is the one that was let in.
 * @throws PoppyError `invalid_request` or `invalid_client`
 */
export async function identifyMcpClient(
  parameters: FormParameters,
  request: Request,
  settings: ClientSettings,
): Promise<Client> {
  if (parameters.has('client_assertion') || parameters.has('client_assertion_type'))
    return authenticateClient(parameters, request, settings)
  refuseOtherMethods(parameters, request)
  const clientId = parameters.get('client_id')
  if (clientId === undefined) throw missingClientId()
  const agent = await settings.directory.find(clientId)
  if (agent.metadata.authentication !== 'none') throw refuse('no client assertion')
  return { clientId, agent, assertion: null }
}

function refuseOtherMethods(parameters: FormParameters, request: Request): void {
  if (request.headers.has('authorization')) throw refuse('an Authorization header')
  if (parameters.has('client_secret')) throw refuse('a client secret')
}

/** RFC 7521, 4.2: with an assertion, `client_id` may be left out. What stands here is checked with the signature. */
function subjectOf(assertion: string): string | undefined {
  const jwt = readJwt(assertion)
  return typeof jwt === 'string' ? undefined : readText(jwt.payload, 'sub', 2048)
}

function missingClientId(): PoppyError {
  return new PoppyError('invalid_request', { description: 'client_id is missing.' })
}
