import { type FormParameters, grantTypes, PoppyError } from '@poppyseed/protocol'
import { useAccountToken } from '../accounts/account-token-grant.ts'
import type { AgentDirectory } from '../agents/directory.ts'
import { readForm } from '../http/body.ts'
import { exchangeCode } from '../sign-in/code-grant.ts'
import { exchangeDeviceCode } from '../sign-in/device/device-grant.ts'
import { grantableScopes, type OfferedSignIn } from '../sign-in/sign-in-settings.ts'
import type { Scope } from '../store/database.ts'
import { noteSession } from '../telemetry/caller.ts'
import { authenticateClient, type Client, identifyClient, identifyMcpClient } from './client-authentication.ts'
import { startOrRenewSession } from './session-grant.ts'
import { claimProof } from './store.ts'
import {
  claimCarried,
  claimClientAssertion,
  isOwnMcpFlow,
  type ProofClaim,
  readBinding,
  type TokenRequest,
  type TokenSettings,
} from './token-request.ts'

/** Section 4.2: the token endpoint and its grants. */

type Grant = (request: TokenRequest) => Promise<Response>

/** What the token endpoint offers, by `grant_type`. */
export type Grants = ReadonlyMap<string, Grant>

/** The grants of a Company, by the types of sign-in that it offers. */
export function grantsOf(offered: OfferedSignIn): Grants {
  return new Map<string, Grant>([
    [grantTypes.jwtBearer, startOrRenewSession],
    ...(offered.direct === undefined ? [] : [[grantTypes.authorizationCode, exchangeCode] as const]),
    ...(offered.device === undefined ? [] : [[grantTypes.deviceCode, exchangeDeviceCode] as const]),
    ...(grantableScopes(offered).length === 0 ? [] : [[grantTypes.refreshToken, useAccountToken] as const]),
  ])
}

/** What {@link handleTokenRequest} needs. `audiences`: what a client assertion may name in `aud` (4.1). */
export interface TokenEndpoint {
  readonly directory: AgentDirectory
  readonly grants: Grants
  readonly settings: TokenSettings
  readonly scope: () => Promise<Scope>
  readonly audiences: readonly string[]
}

/**
 * `POST` to the token endpoint. Client, proof, nonce, scope, resource and Session are checked before anything is
 * spent; a refused request costs only the ids that it carried, and one over a limit not even those.
 */
export async function handleTokenRequest(request: Request, endpoint: TokenEndpoint): Promise<Response> {
  const { settings } = endpoint
  const { requestLimits } = settings
  const { parameters, grant, client } = await identifyClient(request, requestLimits, async () => {
    refuseTokensInUrl(request)
    const parameters = await readForm(request)
    const grant = findGrant(parameters, endpoint.grants)
    const { directory, audiences } = endpoint
    const identify = isOwnMcpFlow(request, parameters, settings) ? identifyMcpClient : authenticateClient
    const client = await identify(parameters, request, { directory, audiences, now: settings.now() / 1000 })
    return { parameters, grant, client }
  })
  // 4.3: in the name of a client that can't authenticate anybody can ask. What is refused counts by address alone.
  const isKnown = client.assertion !== null
  const notCounted = isKnown ? requestLimits.countTokenRequest(client.clientId) : () => {}
  const scope = await endpoint.scope()
  let carried: ProofClaim | null = null
  let replay: boolean | null = null
  try {
    const { binding, proof } = await readBinding(request, parameters, scope, settings)
    carried = proof
    const note = (sessionId: string) => noteSession(request, sessionId)
    const claim = async () => {
      const used = await claimCarried(scope, client, proof)
      replay = used !== null
      return used
    }
    const meet = () => endpoint.directory.meet(client.agent)
    const answer = await grant({ parameters, client, scope, settings, binding, claim, note, meet })
    if (changesRights(parameters)) settings.rightsChanged()
    return answer
  } catch (error) {
    // 4.5, 4.8: what comes twice may have taken back what it gave.
    if (error instanceof PoppyError && error.code === 'invalid_grant') settings.rightsChanged()
    // Proof and assertion were good and have been shown: they are spent also when something else was wrong.
    // 4.3: over a limit, a retry may bring them again.
    if (error instanceof PoppyError && error.code !== 'rate_limited') {
      const isNew = await spendCarried(scope, client, carried)
      // Somebody else's copy of a request takes nothing from the client.
      if (!isKnown || (replay ?? !isNew)) {
        notCounted()
        requestLimits.countFailure(request)
      }
    }
    throw error
  }
}

/** Whether a request that was granted has signed a Session in that was there before. */
function changesRights(parameters: FormParameters): boolean {
  return parameters.get('grant_type') !== grantTypes.jwtBearer && parameters.get('session_id') !== undefined
}

/** Whether the client assertion had not been used before. */
async function spendCarried(scope: Scope, client: Client, proof: ProofClaim | null): Promise<boolean> {
  return await scope.db.transaction(async () => {
    if (proof !== null) await claimProof(scope, proof)
    return await claimClientAssertion(scope, client)
  })
}

function findGrant(parameters: FormParameters, grants: Grants): Grant {
  const type = parameters.get('grant_type')
  if (type === undefined) throw new PoppyError('invalid_request', { description: 'grant_type is missing.' })
  const grant = grants.get(type)
  if (!grant) throw new PoppyError('unsupported_grant_type', { description: 'This grant is not offered here.' })
  return grant
}

/** 4.3: parameters of a token request belong in the body, where no log and no history keeps them. */
export function refuseTokensInUrl(request: Request): void {
  if (request.url.includes('?')) {
    throw new PoppyError('invalid_request', { description: 'Send all parameters in the body, none in the URL.' })
  }
}
