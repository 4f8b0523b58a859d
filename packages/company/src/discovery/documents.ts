import {
  currentCodec,
  type Discovery,
  grantTypes,
  type OAuthMetadata,
  type ResourceMetadata,
  signatureAlgorithms,
} from '@poppyseed/protocol'

/** Section 3: what a Company publishes of itself. Every URL comes from the configured origin. */

/** Paths under the origin, all of the library's own. */
export const paths = {
  poppy: '/.well-known/poppy.json',
  oauthMetadata: '/.well-known/oauth-authorization-server',
  mcpMetadata: '/.well-known/oauth-protected-resource/poppy/mcp',
  token: '/poppy/token',
  revoke: '/poppy/revoke',
  authorize: '/poppy/authorize',
  mcp: '/poppy/mcp',
  openapi: '/poppy/openapi.json',
  tools: '/poppy/tools',
} as const

/** What a Company says of itself in its documents (3). */
export interface Published {
  readonly origin: string
  readonly issuer: string
  readonly name: string
  readonly domain: string
  readonly scopes: Readonly<Record<string, string>>
  readonly direct: readonly string[] | undefined
  readonly hasTools: boolean
  readonly description: string
}

/** `poppy.json` (3.1). What isn't there is not advertised. */
export function discoveryOf(published: Published): unknown {
  const { origin, scopes } = published
  const discovery: Discovery = {
    protocolVersion: currentCodec.version,
    organization: { name: published.name, domain: published.domain },
    issuer: published.issuer,
    signIn: { direct: published.direct, device: undefined, mediated: undefined },
    // 4.4: the protocol's own two need no description, and where nobody can sign in there is nothing to grant
    customScopes:
      published.direct === undefined
        ? {}
        : Object.fromEntries(Object.entries(scopes).filter(([scope]) => !scope.startsWith('poppy:'))),
    conversations: [],
    apis: published.hasTools
      ? [
          { type: 'openapi', url: origin + paths.openapi, description: published.description },
          { type: 'mcp', url: origin + paths.mcp, description: published.description },
        ]
      : [],
    browserSessionEndpoint: undefined,
    extensions: {},
  }
  return currentCodec.writeDiscovery(discovery)
}

/** OAuth Authorization Server Metadata (3.2, RFC 8414). */
export function oauthMetadataOf(published: Published): OAuthMetadata {
  const { origin, direct } = published
  return {
    issuer: published.issuer,
    token_endpoint: origin + paths.token,
    revocation_endpoint: origin + paths.revoke,
    ...(direct === undefined
      ? {}
      : {
          authorization_endpoint: origin + paths.authorize,
          response_types_supported: ['code'],
          response_modes_supported: ['query'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        }),
    poppy_domains: [published.domain],
    grant_types_supported: [
      grantTypes.jwtBearer,
      ...(direct === undefined ? [] : [grantTypes.authorizationCode, grantTypes.refreshToken]),
    ],
    ...(direct === undefined ? {} : { scopes_supported: [...direct] }),
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: [...signatureAlgorithms],
    revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
    revocation_endpoint_auth_signing_alg_values_supported: [...signatureAlgorithms],
    dpop_signing_alg_values_supported: [...signatureAlgorithms],
    client_id_metadata_document_supported: true,
  }
}

/** Protected resource metadata of the MCP server (6, RFC 9728). */
export function mcpMetadataOf(published: Published): ResourceMetadata {
  return {
    resource: published.origin + paths.mcp,
    authorization_servers: [published.issuer],
    ...(published.direct === undefined ? {} : { scopes_supported: [...published.direct] }),
    bearer_methods_supported: ['header'],
    resource_name: published.name,
  }
}
