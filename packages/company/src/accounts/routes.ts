import { PoppyError } from '@poppyseed/protocol'
import type { AgentDirectory } from '../agents/directory.ts'
import { sha256 } from '../crypto/hash.ts'
import { readForm } from '../http/body.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import { authenticateClient, identifyClient } from '../sessions/client-authentication.ts'
import { refuseTokensInUrl } from '../sessions/routes.ts'
import { claimClientAssertion, clientAssertionReplayed } from '../sessions/token-request.ts'
import type { Scope } from '../store/database.ts'
import { findGrantById, findGrantByToken, findRetired, revokeGrant } from './store.ts'

/** Section 4.9: the revocation endpoint (RFC 7009), where a Personal Agent signs out. */

/** What the revocation endpoint needs (4.9). */
export interface RevocationEndpoint {
  readonly directory: AgentDirectory
  readonly scope: () => Promise<Scope>
  readonly audiences: readonly string[]
  readonly requestLimits: RequestLimits
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Whether a sign-out ends the Sessions as well (4.9). */
  readonly endsSessions: boolean
  /** Has the company's people told, after the commit, that what Sessions may do has changed. */
  readonly rightsChanged: () => void
}

/**
 * Revokes an Account Token and signs out every Session that it signed in. Unknown and already revoked tokens are 200;
 * another client's token is refused and keeps working. An agent that the company has blocked may sign out too: that only
 * takes access away.
 */
export async function handleRevocation(request: Request, endpoint: RevocationEndpoint): Promise<Response> {
  const { requestLimits } = endpoint
  const { parameters, client } = await identifyClient(request, requestLimits, async () => {
    refuseTokensInUrl(request)
    const parameters = await readForm(request)
    const { directory, audiences } = endpoint
    return {
      parameters,
      client: await authenticateClient(parameters, request, {
        directory,
        audiences,
        // Once the body has come: one that is held back would outlast what is known of its use.
        now: endpoint.now() / 1000,
        evenBlocked: true,
      }),
    }
  })
  const now = endpoint.now()
  const notCounted = requestLimits.countTokenRequest(client.clientId)
  const token = parameters.get('token')
  const scope = await endpoint.scope()
  const refusal = await scope.db.transaction(async () => {
    if (!(await claimClientAssertion(scope, client))) {
      // Somebody else's copy of a request takes nothing from the client.
      notCounted()
      requestLimits.countFailure(request)
      return clientAssertionReplayed()
    }
    if (token === undefined) return new PoppyError('invalid_request', { description: 'token is missing.' })
    // A sealed Session Token has five parts; it runs out by itself and can't be revoked one by one.
    if (token.split('.').length === 5) {
      return new PoppyError('unsupported_token_type', { description: 'Only Account Tokens can be revoked.' })
    }
    const hash = sha256(token)
    // In this order: one that is replaced between the two is found by the second.
    const current = await findGrantByToken(scope, hash)
    const replaced = current === null ? await findRetired(scope, hash) : null
    // One that was replaced stands for the same sign-in: whoever signs out with it means that.
    const grant = replaced === null ? current : await findGrantById(scope, replaced.grant_id)
    if (grant === null) return null
    if (grant.client_id !== client.clientId) {
      return new PoppyError('invalid_grant', {
        description: 'The token was not issued to this client.',
        reason: 'another client’s token',
      })
    }
    await revokeGrant(scope, { grantId: grant.id, now, endsSessions: endpoint.endsSessions })
    return null
  })
  if (refusal) throw refusal
  endpoint.rightsChanged()
  return new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } })
}
