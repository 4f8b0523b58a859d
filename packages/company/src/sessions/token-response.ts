import { formatScope, type TokenResponse } from '@poppyseed/protocol'
import type { BegunConnection } from '../accounts/connection-hook.ts'
import { json } from '../http/respond.ts'
import type { TokenRequest } from './token-request.ts'

/** The answer of the token endpoint (4.2, 4.4). */

/** What a token request came to, before it is written down (4.2, 4.4). */
export interface Issued {
  readonly sessionId: string
  readonly userId: string
  readonly epoch: number
  /** Milliseconds since 1970 at which the Session ends at the latest. */
  readonly sessionExpiresAt: number
  /** The sign-in behind the token; absent for a signed-out one. */
  readonly grant?: { readonly id: string; readonly scopes: readonly string[]; readonly expiresAt: number | null }
  /** Whether the Session was opened by MCP's own flow (6), for a client that can't renew it. */
  readonly ownMcpFlow?: boolean
  /** A new Account Token, after a sign-in. */
  readonly accountToken?: string
  /** The sign-in that has just been recorded: the company is told of it once it is committed. */
  readonly begun?: BegunConnection
}

/** Seals a Session Token and writes the answer, when all that it tells is committed. */
export async function issueTokens(request: TokenRequest, issued: Issued): Promise<Response> {
  request.note(issued.sessionId)
  if (issued.begun !== undefined) await request.settings.connections?.tell(issued.begun)
  return json(tokensOf(request, issued))
}

/** Seals a Session Token and gives what is said with it (4.4). */
export function tokensOf(
  request: Pick<TokenRequest, 'settings' | 'binding'> & { readonly client: { readonly clientId: string } },
  issued: Issued,
): TokenResponse {
  const { settings, binding } = request
  const now = settings.now()
  const { grant } = issued
  // A token lives no longer than its Session and its sign-in; at least a second, since 4.2 wants more than 0.
  const ends = Math.min(
    now + settings.tokenLifetime,
    issued.sessionExpiresAt,
    grant?.expiresAt ?? Number.POSITIVE_INFINITY,
  )
  const expiresIn = Math.max(1, Math.floor((ends - now) / 1000))
  const token = settings.tokens.issue({
    company: settings.company,
    clientId: request.client.clientId,
    userId: issued.userId,
    sessionId: issued.sessionId,
    keyThumbprint: binding.type === 'DPoP' ? binding.thumbprint : undefined,
    resource: binding.resource,
    grantId: grant?.id,
    scopes: grant?.scopes ?? [],
    epoch: issued.epoch,
    ownMcpFlow: issued.ownMcpFlow === true,
    expiresAt: Math.floor(now / 1000) + expiresIn,
  })
  return {
    access_token: token,
    token_type: binding.type,
    expires_in: expiresIn,
    scope: formatScope(grant?.scopes ?? []),
    session_id: issued.sessionId,
    signed_in: grant !== undefined,
    ...(issued.accountToken === undefined ? {} : { refresh_token: issued.accountToken }),
    ...(issued.accountToken === undefined || !grant?.expiresAt
      ? {}
      : { refresh_token_expires_in: Math.max(1, Math.floor((grant.expiresAt - now) / 1000)) }),
  }
}
