import { offeredScopes } from './authorization.ts'
import type { Exchange } from './exchange.ts'
import { credentialFields } from './mediated.ts'
import { hostileText } from './words.ts'

/** The documents of section 3 and 6, right or wrong as the switches say. */

/** Where everything of a Company is. */
export interface Places {
  readonly origin: string
  readonly domain: string
  readonly tokenEndpoint: string
  readonly revocationEndpoint: string
  readonly authorizationEndpoint: string
  readonly deviceEndpoint: string
  readonly mediatedEndpoint: string
  readonly openapi: string
  readonly mcp: string
  readonly operations: string
  readonly conversations: string
}

type Document = Record<string, unknown>

/** poppy.json (3.1). */
export function poppyJson({ switches }: Exchange, places: Places): Document {
  const domains = { right: places.domain, other: 'other.example', subdomain: `evil.${places.domain}` }
  const strange = {
    auth: { passkey_only: { scopes: 1 } },
    extensions: { 'example.com/gift-wrap': { version: '7', constructor: [] }, broken: 5, __proto__: null },
    api: { type: 'carrier-pigeon', url: 'pigeon://loft', weight: { grams: 300 } },
  }
  return {
    protocol_version: switches.protocolVersion,
    organization: { name: 'Misbehaving Company', domain: domains[switches.domain] },
    auth: {
      ...(switches.unknown ? strange.auth : {}),
      issuer: places.origin,
      direct: { scopes: [...offeredScopes] },
      device: { scopes: [...offeredScopes] },
      mediated: {
        endpoint: places.mediatedEndpoint,
        fields: credentialFields.map((field) =>
          switches.words === 'escapes' ? { ...field, label: field.label + hostileText } : field,
        ),
        scopes: [...offeredScopes],
      },
      custom_scopes: { addresses: 'Manage saved addresses' },
    },
    apis: [
      ...(switches.unknown ? [strange.api, null, 'x', { type: 'openapi' }] : []),
      {
        type: 'openapi',
        url: places.openapi,
        description: 'Orders',
        ...(switches.resource ? { resource: places.openapi } : {}),
      },
      { type: 'mcp', url: places.mcp, description: 'Orders, for MCP' },
    ],
    ...extensionsOf(switches, places, switches.unknown ? strange.extensions : {}),
    ...agentOf(switches, places),
    ...(switches.unknown ? { x: [[[]]] } : {}),
  }
}

function agentOf({ conversations, unknown }: Exchange['switches'], places: Places): Document {
  const endpoint = places.conversations
  const others = [{ type: 'telex' }, { type: 'fax', endpoint: `${places.origin}/fax` }, null]
  const own = { type: 'poppy', endpoint, ...(conversations === 'with_resource' ? { resource: endpoint } : {}) }
  const protocols = [
    ...(unknown || conversations === 'beside_others' ? others : []),
    ...(conversations === 'absent' ? [] : [own]),
  ]
  return protocols.length === 0 ? {} : { agent: { protocols } }
}

function extensionsOf({ operations }: Exchange['switches'], places: Places, others: Document): Document {
  const endpoint = places.operations
  const stated = {
    absent: undefined,
    right: { version: '1', endpoint },
    version_2: { version: '2', endpoint },
    number: { version: 1, endpoint },
    plain_http: { version: '1', endpoint: 'http://company.example/operations' },
    no_endpoint: { version: '1' },
    with_resource: { version: '1', endpoint, resource: endpoint },
  }[operations]
  const extensions = { ...others, ...(stated === undefined ? {} : { operations: stated }) }
  return Object.keys(extensions).length === 0 ? {} : { extensions }
}

/** Authorization server metadata (3.2). */
export function oauthMetadata({ switches }: Exchange, places: Places): Document {
  const { origin, domain } = places
  const issuers = { right: origin, slash: `${origin}/`, other: 'https://other.example', missing: undefined }
  const domains = { right: [domain], missing: undefined, empty: [], other: ['other.example'] }
  return {
    issuer: issuers[switches.issuer],
    token_endpoint: places.tokenEndpoint,
    revocation_endpoint: places.revocationEndpoint,
    authorization_endpoint: places.authorizationEndpoint,
    device_authorization_endpoint: places.deviceEndpoint,
    poppy_domains: domains[switches.poppyDomains],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    authorization_response_iss_parameter_supported: true,
    ...(switches.unknown
      ? { grant_types_supported: 'all of them', pushed_authorization_request_endpoint: 7, x: null }
      : {}),
  }
}

/** Protected resource metadata of the MCP server (RFC 9728). */
export function mcpMetadata({ switches }: Exchange, places: Places): Document {
  return {
    resource: switches.mcpMetadata === 'other_resource' ? 'https://other.example/mcp' : places.mcp,
    authorization_servers: [switches.mcpMetadata === 'other_issuer' ? 'https://other.example' : places.origin],
    bearer_methods_supported: ['header'],
  }
}

/** The OpenAPI document: one operation of each kind that matters. */
export function openapi(): Document {
  const body = {
    content: { 'application/json': { schema: { type: 'object', properties: { text: { type: 'string' } } } } },
  }
  const security = (...scopes: string[]) => [{ poppy: scopes }]
  return {
    openapi: '3.1.0',
    info: { title: 'Misbehaving Company', version: '1' },
    servers: [{ url: '/api' }],
    paths: {
      '/echo': { post: { operationId: 'echo', requestBody: body } },
      '/orders/{id}': {
        get: {
          operationId: 'get_order',
          security: security('poppy:read'),
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        },
      },
      '/address': { put: { operationId: 'set_address', security: security('addresses'), requestBody: body } },
      '/tables': {
        post: { operationId: 'book_table', security: security('poppy:write'), requestBody: body },
      },
      '/notes': {
        post: { operationId: 'save_note', security: security('poppy:read', 'poppy:write'), requestBody: body },
      },
    },
  }
}
