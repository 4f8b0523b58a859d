import {
  type CheckedProof,
  checkProof,
  type FormParameters,
  grantTypes,
  type KeyImporter,
  PoppyError,
  parseScope,
} from '@poppyseed/protocol'
import type { ConnectionHook } from '../accounts/connection-hook.ts'
import type { Rotation } from '../accounts/rotation.ts'
import type { Nonces } from '../crypto/nonce.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import type { Scope } from '../store/database.ts'
import type { Client } from './client-authentication.ts'
import type { SessionLimits } from './rights.ts'
import type { SessionTokens } from './session-token.ts'
import { claimIds, claimProof } from './store.ts'

/** What every grant at the token endpoint has in common (4.2, 4.3): the proof, the service, the ids to claim. */

/** What the grants know of their Company. Proof window and skew in seconds (4.3). */
export interface TokenSettings {
  readonly tokens: SessionTokens
  readonly importKey: KeyImporter
  readonly nonces: Nonces | null
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  readonly proofWindow: number
  readonly proofSkew: number
  readonly company: string
  readonly tokenEndpoint: string
  /** URLs of the MCP servers: the only services with Bearer tokens (4.3). */
  readonly mcpResources: readonly string[]
  /** Identifiers of the services that a DPoP token may be narrowed to (RFC 8707). */
  readonly resources: readonly string[]
  readonly limits: SessionLimits
  readonly requestLimits: RequestLimits
  /** Milliseconds. */
  readonly sessionLifetime: number
  readonly tokenLifetime: number
  readonly accountTokenLifetime: number | null
  /** Whether Account Tokens are replaced when they are used (4.8), and how. */
  readonly rotation: Rotation
  /** Whether a sign-out ends the Sessions as well (4.9). */
  readonly endsSessions: boolean
  /** Who is told of new sign-ins; null where nobody is (4.9). */
  readonly connections: ConnectionHook | null
  /** Has the company's people told, after the commit, that what Sessions may do has changed. */
  readonly rightsChanged: () => void
}

/**
 * Whether a token request is a step of MCP's own flow (6): a code, with neither Session nor proof, for one of the
 * Company's MCP servers. Of no other request is it enough that the client says who it is.
 */
export function isOwnMcpFlow(
  request: Request,
  parameters: FormParameters,
  settings: Pick<TokenSettings, 'mcpResources'>,
): boolean {
  const [resource, ...more] = parameters.resources
  return (
    parameters.get('grant_type') === grantTypes.authorizationCode &&
    parameters.get('session_id') === undefined &&
    !request.headers.has('dpop') &&
    resource !== undefined &&
    more.length === 0 &&
    settings.mcpResources.includes(resource)
  )
}

/** A token request whose client is known. */
export interface TokenRequest {
  readonly parameters: FormParameters
  readonly client: Client
  readonly scope: Scope
  readonly settings: TokenSettings
  /** What the new token will be bound to. */
  readonly binding: TokenBinding
  /** Claims what the request carried, or gives the refusal. First in the transaction of every grant. */
  readonly claim: () => Promise<PoppyError | null>
  /** Notes which Session the request is about, for log and traces. */
  readonly note: (sessionId: string) => void
  /**
   * Puts a client on record that could not authenticate, once its code has shown who it is (4.1).
   * @throws PoppyError as the directory's `meet`
   */
  readonly meet: () => Promise<void>
}

/** A proof that is still to be claimed. `passesUntil` in milliseconds since 1970. */
export interface ProofClaim {
  readonly thumbprint: string
  readonly proofId: string
  readonly passesUntil: number
}

/** A key (DPoP) or a service (Bearer); a DPoP token may name a service too. */
export type TokenBinding =
  | { readonly type: 'DPoP'; readonly thumbprint: string; readonly resource: string | undefined }
  | { readonly type: 'Bearer'; readonly resource: string }

/**
 * Decides what the token is bound to (4.3). Claims nothing: {@link claimCarried} does.
 * @throws PoppyError `invalid_target`, `invalid_dpop_proof`, `use_dpop_nonce`
 */
export async function readBinding(
  request: Request,
  parameters: FormParameters,
  scope: Scope,
  settings: TokenSettings,
): Promise<{ readonly binding: TokenBinding; readonly proof: ProofClaim | null }> {
  const { resources } = parameters
  if (resources.length > 1) throw new PoppyError('invalid_target', { description: 'Ask for one resource at a time.' })
  const resource = resources[0]
  const isMcp = resource !== undefined && settings.mcpResources.includes(resource)
  if (resource !== undefined && !isMcp && !settings.resources.includes(resource)) {
    throw new PoppyError('invalid_target', { description: 'This resource is none of the Company’s.' })
  }
  if (!request.headers.has('dpop') && isMcp) return { binding: { type: 'Bearer', resource }, proof: null }
  // Before the proof is accepted: an accepted proof is always spent.
  if (isMcp) {
    throw new PoppyError('invalid_target', {
      description: 'MCP takes Bearer tokens: send this request without a DPoP proof.',
    })
  }
  const proof = await checkTokenProof(request, settings)
  if ((proof.issuedAt - settings.proofSkew) * 1000 < scope.db.marksCompleteSince)
    throw replayed('made before replay marks are complete')
  const { thumbprint, id, passesUntil } = proof
  return {
    binding: { type: 'DPoP', thumbprint, resource },
    proof: { thumbprint, proofId: id, passesUntil: Math.ceil(passesUntil * 1000) },
  }
}

/**
 * Claims what the request carried: its proof, then its client assertion (4.1, 4.3). Inside the transaction that gives
 * something for them, so that all of it is durable together.
 * @returns what the client is to be told when one of them was used before
 */
export async function claimCarried(scope: Scope, client: Client, proof: ProofClaim | null): Promise<PoppyError | null> {
  if (proof !== null && !(await claimProof(scope, proof))) return replayed('used before')
  return (await claimClientAssertion(scope, client)) ? null : clientAssertionReplayed()
}

function replayed(reason: string): PoppyError {
  return new PoppyError('invalid_dpop_proof', { description: 'The DPoP proof was not accepted.', reason })
}

function checkTokenProof(request: Request, settings: TokenSettings): Promise<CheckedProof> {
  return checkProof(request.headers.get('dpop'), {
    method: request.method,
    url: settings.tokenEndpoint,
    now: settings.now() / 1000,
    window: settings.proofWindow,
    skew: settings.proofSkew,
    importKey: settings.importKey,
    ...(settings.nonces ? { acceptsNonce: settings.nonces.accepts } : {}),
  })
}

/**
 * Claims the client assertion (4.1). Call it inside the transaction that gives something for it, so that both are
 * durable together.
 */
export async function claimClientAssertion(scope: Scope, { clientId, assertion }: Client): Promise<boolean> {
  if (assertion === null) return true
  return claimIds(scope, [{ kind: 'client_assertion', owner: clientId, ...assertion }])
}

/** The refusal of a client assertion that was used before (4.1). */
export function clientAssertionReplayed(): PoppyError {
  return new PoppyError('invalid_client', {
    description: 'The client assertion was not accepted.',
    reason: 'used before',
  })
}

/**
 * Reads `scope` on a request that may narrow (4.3): absent is everything, more than there is is refused.
 * @throws PoppyError `invalid_scope`
 */
export function narrowScopes(parameters: FormParameters, available: readonly string[]): readonly string[] {
  const asked = parseScope(parameters.get('scope') ?? '')
  if (asked === null) throw new PoppyError('invalid_scope', { description: 'The scope parameter is malformed.' })
  if (asked.length === 0) return available
  if (!asked.every((scope) => available.includes(scope))) {
    throw new PoppyError('invalid_scope', { description: 'The sign-in does not have all of these scopes.' })
  }
  return asked
}
