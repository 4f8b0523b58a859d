import {
  currentCodec,
  type Discovery,
  grantTypes,
  type OAuthMetadata,
  type ResourceMetadata,
  signatureAlgorithms,
} from '@poppyseed/protocol'
import { grantableScopes, type OfferedSignIn } from '../sign-in/sign-in-settings.ts'
import type { Addresses } from './addresses.ts'
import type { CheckedApis } from './apis.ts'
import type { CheckedExtensions } from './extensions.ts'
import type { Hosts } from './hosts.ts'

/** Section 3: what a Company publishes of itself. */

/** What a Company says of itself in its documents (3). */
export interface Published {
  readonly addresses: Addresses
  readonly name: string
  /** The main one first. */
  readonly domains: readonly string[]
  readonly hosts: Hosts
  readonly scopes: Readonly<Record<string, string>>
  /** Each type of sign-in that is offered, with the scopes that it can grant (4.4). */
  readonly signIn: OfferedSignIn
  readonly hasTools: boolean
  /** Null where there are no conversations (7.1); `resource` where they take tokens of their own. */
  readonly conversations: { readonly resource: string | undefined } | null
  readonly apis: CheckedApis
  readonly extensions: CheckedExtensions
  /** Whether a Personal Agent's browser may join its Session (5). */
  readonly letsBrowsersJoin: boolean
  readonly description: string
}

/** `poppy.json` of one of the domains (3.1). What isn't there is not advertised. */
export function discoveryOf(published: Published, domain: string): unknown {
  const { addresses, scopes } = published
  const { mediated } = published.signIn
  const grantable = grantableScopes(published.signIn)
  const discovery: Discovery = {
    protocolVersion: currentCodec.version,
    organization: { name: published.name, domain },
    issuer: addresses.issuer,
    signIn: {
      direct: published.signIn.direct,
      device: published.signIn.device,
      mediated: mediated && { endpoint: addresses.mediated, fields: mediated.fields, scopes: mediated.scopes },
    },
    // 4.4: the protocol's own two need no description, and where nobody can sign in there is nothing to grant
    customScopes:
      grantable.length === 0
        ? {}
        : Object.fromEntries(Object.entries(scopes).filter(([scope]) => !scope.startsWith('poppy:'))),
    conversations: conversationProtocols(published),
    apis: [...toolApis(published), ...published.apis.own],
    browserSessionEndpoint: published.letsBrowsersJoin ? addresses.browserSession : undefined,
    extensions: published.extensions,
  }
  return currentCodec.writeDiscovery(discovery)
}

/** 7.1: the protocols in which agents may converse with the Company. */
function conversationProtocols({ addresses, conversations }: Published): Discovery['conversations'] {
  if (conversations === null) return []
  const { resource } = conversations
  return [{ type: 'poppy', endpoint: addresses.conversations, ...(resource === undefined ? {} : { resource }) }]
}

function toolApis({ addresses, apis, description, hasTools }: Published): Discovery['apis'] {
  if (!hasTools) return []
  const { toolsResource } = apis
  return [
    {
      type: 'openapi',
      url: addresses.openapi,
      description,
      ...(toolsResource === undefined ? {} : { resource: toolsResource }),
    },
    { type: 'mcp', url: addresses.mcp, description },
  ]
}

/**
 * Every service that a DPoP token may be narrowed to (4.3): those that are published, and where the tools have no
 * `resource`, their document's URL.
 */
export function resourcesOf({ addresses, apis, hasTools }: Published): readonly string[] {
  return hasTools && apis.toolsResource === undefined ? [addresses.openapi, ...apis.resources] : apis.resources
}

/** OAuth Authorization Server Metadata (3.2, RFC 8414). */
export function oauthMetadataOf(published: Published): OAuthMetadata {
  const { addresses } = published
  const { direct, device } = published.signIn
  const grantable = grantableScopes(published.signIn)
  return {
    issuer: addresses.issuer,
    token_endpoint: addresses.token,
    revocation_endpoint: addresses.revoke,
    ...(direct === undefined
      ? {}
      : {
          authorization_endpoint: addresses.authorize,
          response_types_supported: ['code'],
          response_modes_supported: ['query'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        }),
    ...(device === undefined ? {} : { device_authorization_endpoint: addresses.deviceAuthorization }),
    poppy_domains: [...published.domains],
    grant_types_supported: [
      grantTypes.jwtBearer,
      ...(direct === undefined ? [] : [grantTypes.authorizationCode]),
      ...(device === undefined ? [] : [grantTypes.deviceCode]),
      ...(grantable.length === 0 ? [] : [grantTypes.refreshToken]),
    ],
    ...(grantable.length === 0 ? {} : { scopes_supported: [...grantable] }),
    // 6: `none` is for MCP's own flow, where a code and its verifier say who is asking
    token_endpoint_auth_methods_supported: offersMcpFlow(published) ? ['private_key_jwt', 'none'] : ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: [...signatureAlgorithms],
    revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
    revocation_endpoint_auth_signing_alg_values_supported: [...signatureAlgorithms],
    dpop_signing_alg_values_supported: [...signatureAlgorithms],
    client_id_metadata_document_supported: true,
    ...(offersMcpFlow(published) ? { protected_resources: [...mcpServersOf(published)] } : {}),
  }
}

/** The URLs of the Company's MCP servers: of its tools, and of its own elsewhere. */
export function mcpServersOf({ addresses, apis, hasTools }: Published): readonly string[] {
  return hasTools ? [addresses.mcp, ...apis.mcpServers] : apis.mcpServers
}

/** Whether MCP clients that know nothing of Poppy can sign in here (6). */
function offersMcpFlow(published: Published): boolean {
  return published.signIn.direct !== undefined && mcpServersOf(published).length > 0
}

/** Protected resource metadata of an MCP server (6, RFC 9728). */
export function mcpMetadataOf(published: Published, url: string): ResourceMetadata {
  return {
    resource: url,
    authorization_servers: [published.addresses.issuer],
    ...(published.signIn.direct === undefined ? {} : { scopes_supported: [...published.signIn.direct] }),
    bearer_methods_supported: ['header'],
    resource_name: published.name,
  }
}
