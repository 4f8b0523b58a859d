import { type ErrorCode, PoppyError, parseScope } from '@poppyseed/protocol'
import type { AgentDirectory, KnownAgent } from '../agents/directory.ts'

/** Reading the authorization request (4.5): what is wrong with it goes back to the agent, or stays here on a page. */

/** A request that may be shown to the person. */
export interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string | undefined
  readonly scopes: readonly string[]
  readonly codeChallenge: string
  /** The MCP server that the code will be for (6, RFC 8707); undefined in the flow of 4.5. */
  readonly resource: string | undefined
}

/** What may be asked for. */
export interface Offered {
  /** The scopes that Direct Sign-In can grant (4.4). */
  readonly scopes: readonly string[]
  /** The URLs of the Company's MCP servers. */
  readonly mcpResources: readonly string[]
}

/** What became of an authorization request. */
export type ReadRequest =
  | { readonly outcome: 'ask'; readonly request: AuthorizationRequest; readonly agent: KnownAgent }
  /** Nobody can be told: the client or its address isn't known. Stays here, on a page. */
  | { readonly outcome: 'page'; readonly reason: string }
  | {
      readonly outcome: 'redirect'
      readonly redirectUri: string
      readonly state: string | undefined
      readonly error: ErrorCode
      readonly description: string
    }

const known = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
]

export async function readAuthorizationRequest(
  query: URLSearchParams,
  directory: AgentDirectory,
  offered: Offered,
): Promise<ReadRequest> {
  const single = (name: string) => {
    const values = query.getAll(name)
    return values.length === 1 ? values[0] || undefined : undefined
  }
  const clientId = single('client_id')
  const redirectUri = single('redirect_uri')
  if (clientId === undefined || redirectUri === undefined)
    return { outcome: 'page', reason: 'client_id or redirect_uri is missing or stands twice' }
  let agent: KnownAgent
  try {
    agent = await directory.find(clientId)
    // 4.5: string equality, nothing cleverer
    if (!agent.metadata.redirectUris.includes(redirectUri))
      return { outcome: 'page', reason: 'redirect_uri is not one of the agent’s' }
    await directory.checkRegistered(agent)
  } catch (error) {
    if (error instanceof PoppyError) return { outcome: 'page', reason: error.reason ?? error.code }
    throw error
  }

  const state = single('state')
  const back = (error: ErrorCode, description: string): ReadRequest => ({
    outcome: 'redirect',
    redirectUri,
    state,
    error,
    description,
  })
  if (known.some((name) => query.getAll(name).length > 1)) return back('invalid_request', 'A parameter was sent twice.')
  if ((state?.length ?? 0) > 2048)
    return {
      outcome: 'redirect',
      redirectUri,
      state: undefined,
      error: 'invalid_request',
      description: 'state is too long.',
    }
  const responseType = single('response_type')
  if (responseType === undefined) return back('invalid_request', 'response_type is missing.')
  if (responseType !== 'code') return back('unsupported_response_type', 'response_type must be code.')
  const codeChallenge = single('code_challenge')
  if (
    single('code_challenge_method') !== 'S256' ||
    codeChallenge === undefined ||
    !/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)
  ) {
    return back('invalid_request', 'PKCE is required: a code_challenge with code_challenge_method=S256.')
  }
  const scopes = parseScope(single('scope') ?? '')
  if (scopes === null || scopes.length === 0) return back('invalid_scope', 'scope is missing or malformed.')
  if (!scopes.every((scope) => offered.scopes.includes(scope)))
    return back('invalid_scope', 'Direct Sign-In does not offer all of these scopes.')
  const resources = query.getAll('resource').filter(Boolean)
  const resource = resources[0]
  if (resources.length > 1) return back('invalid_target', 'Ask for one resource at a time.')
  if (resource !== undefined && !offered.mcpResources.includes(resource))
    return back('invalid_target', 'This resource is none of the Company’s MCP servers.')
  // 6: what it could not exchange, nobody is asked to approve
  if (agent.metadata.authentication === 'none' && resource === undefined)
    return back('invalid_target', 'A client that can’t authenticate has to name the MCP server in resource.')
  return { outcome: 'ask', agent, request: { clientId, redirectUri, state, scopes, codeChallenge, resource } }
}

/**
 * The address that the browser goes back to: with the same `state`, and with `iss` always (4.5, RFC 9207).
 * The registered address is kept as it was published; parameters are only put behind it.
 */
export function redirectBack(
  redirectUri: string,
  issuer: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Response {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...parameters, iss: issuer }))
    if (value !== undefined) query.set(name, value)
  // A header holds no other letters, and browsers read the escapes as what they stand for.
  const address = redirectUri.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  return new Response(null, {
    status: 303,
    headers: {
      location: `${address}${redirectUri.includes('?') ? '&' : '?'}${query}`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    },
  })
}
