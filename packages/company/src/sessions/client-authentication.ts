import {
  checkClientAssertion,
  clientAssertionType,
  errorRow,
  type FormParameters,
  PoppyError,
} from '@poppyseed/protocol'
import type { AgentDirectory, KnownAgent } from '../agents/directory.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import { noteCaller } from '../telemetry/caller.ts'

/** Client authentication at the token and revocation endpoints (4.1): `private_key_jwt` and nothing else. */

/** Seconds by which the clocks of agent and Company may differ, and how long an assertion may live. */
export const assertionSkew = 30
/** Seconds that an assertion may live at most (4.2: short-lived). */
export const assertionLifetime = 300

/** A Personal Agent whose client assertion was good (4.1); its `jti` is claimed later, with what is given for it. */
export interface AuthenticatedClient {
  readonly clientId: string
  readonly agent: KnownAgent
  /** The assertion's `jti` and until when it could still pass (milliseconds): still to be claimed. */
  readonly assertion: { readonly id: string; readonly expiresAt: number }
}

/**
 * Checks who is asking. Claims nothing: the caller claims the assertion's id together with what it gives for it.
 * @param endpoint the URL called, one of the three names that `aud` may have
 * @throws PoppyError `invalid_request`, `invalid_client`; for an agent that is new here also `rate_limited` and
 * `temporarily_unavailable`
 */
export async function authenticateClient(
  parameters: FormParameters,
  request: Request,
  settings: {
    readonly directory: AgentDirectory
    readonly audiences: readonly string[]
    /** Seconds since 1970. */
    readonly now: number
  },
): Promise<AuthenticatedClient> {
  const refuse = (reason: string) =>
    new PoppyError('invalid_client', { description: 'Authenticate with private_key_jwt.', reason })
  if (request.headers.has('authorization')) throw refuse('an Authorization header')
  if (parameters.has('client_secret')) throw refuse('a client secret')
  const assertion = parameters.get('client_assertion')
  if (assertion === undefined || parameters.get('client_assertion_type') !== clientAssertionType)
    throw refuse('no client assertion')
  const clientId = parameters.get('client_id')
  if (clientId === undefined) throw new PoppyError('invalid_request', { description: 'client_id is missing.' })
  const agent = await settings.directory.find(clientId)
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
