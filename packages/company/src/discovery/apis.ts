import { isServiceUrl } from '@poppyseed/protocol'
import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { Addresses } from './addresses.ts'

/** Section 6: the company's own APIs beside the library's tools, and which tokens each of them takes (4.3). */

/** An API of the company's own, as `poppy.json` lists it. */
export interface OwnApi {
  /** `openapi` for an OpenAPI document, `mcp` for an MCP server with Streamable HTTP. */
  readonly type: 'openapi' | 'mcp'
  /** Where the document or the server is. Agents and tokens know an MCP server by this string. */
  readonly url: string
  /** What it is for, for agents to read. */
  readonly description: string
  /**
   * Makes this a service with tokens of its own (4.3): `company.authenticate(request, { resource })` takes no others. An
   * absolute URI. Left out, the API takes the tokens that work everywhere. An MCP server has none: its `url` is it.
   */
  readonly resource?: string
}

/** The settings for what `poppy.json` lists under `apis`. */
export interface ApisConfig {
  /** The company's own APIs (6). The library lists its tools by itself. */
  readonly apis?: readonly OwnApi[]
  /** Makes the library's `POST /poppy/tools/{name}` a service with tokens of its own (4.3): an absolute URI. */
  readonly toolsResource?: string
}

/** {@link ApisConfig}, once it is known to be right. */
export interface CheckedApis {
  readonly own: readonly OwnApi[]
  readonly toolsResource: string | undefined
  /** URLs of the company's own MCP servers. */
  readonly mcpServers: readonly string[]
  /** Every resource that is published for proofs (DPoP), each once. */
  readonly resources: readonly string[]
  /** Origins of own APIs that aren't the Company's. */
  readonly origins: readonly string[]
  /** The origin of a resource's APIs, where all of them are on one. */
  readonly originOf: (resource: string) => string | undefined
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkApis(
  config: ApisConfig & {
    readonly tools?: readonly unknown[]
    readonly operations?: readonly unknown[]
    readonly operationsResource?: string
    readonly conversations?: { readonly resource?: string }
    readonly development?: boolean
  },
  addresses: Addresses,
): CheckedApis {
  const { toolsResource, operationsResource, development = false } = config
  const tools = [...(config.tools ?? []), ...(config.operations ?? [])]
  const apis: unknown = config.apis ?? []
  if (!Array.isArray(apis))
    throw wrong("`apis` is a list: apis: [{ type: 'openapi', url: 'https://…/openapi.json', description: 'Orders' }].")
  const own = apis.map((api: unknown, index) => checkApi(api, `apis[${index}]`, development))
  const taken = new Set([addresses.openapi, addresses.mcp])
  for (const { url } of own) {
    if (taken.has(url))
      throw wrong(`\`apis\` lists ${url} twice, or names what the library lists by itself. Write each once.`)
    taken.add(url)
  }
  if (toolsResource !== undefined) {
    checkResource(toolsResource, 'toolsResource')
    if (tools.length === 0) throw wrong('`toolsResource` is for the tools, and there are none. Leave it out.')
  }
  if (operationsResource !== undefined) checkResource(operationsResource, 'operationsResource')
  const conversationsResource = config.conversations?.resource
  if (conversationsResource !== undefined) checkResource(conversationsResource, 'conversations.resource')
  const mcpServers = own.filter(({ type }) => type === 'mcp').map(({ url }) => url)
  const narrow = own.flatMap(({ type, url, resource }) =>
    type === 'openapi' && resource !== undefined ? [{ resource, origin: new URL(url).origin }] : [],
  )
  const resources = [
    ...new Set(
      [toolsResource, operationsResource, conversationsResource, ...narrow.map((one) => one.resource)].filter(
        (one) => one !== undefined,
      ),
    ),
  ]
  for (const resource of resources) {
    // 4.3: what names an MCP server names Bearer tokens, and an API takes none
    if (resource === addresses.mcp || mcpServers.includes(resource))
      throw wrong(
        `The resource ${resource} is the url of an MCP server, which is a service of its own. Choose another name.`,
      )
    if (resource === addresses.openapi && toolsResource !== resource && tools.length > 0)
      throw wrong(
        `The resource ${resource} is the tools' own. Choose another name, or set it as \`toolsResource\` too.`,
      )
  }
  return {
    own,
    toolsResource,
    mcpServers,
    resources,
    origins: [...new Set(own.map(({ url }) => new URL(url).origin))].filter((origin) => origin !== addresses.origin),
    originOf(resource) {
      const origins = new Set(narrow.filter((one) => one.resource === resource).map((one) => one.origin))
      return origins.size === 1 ? [...origins][0] : undefined
    },
  }
}

function checkApi(api: unknown, where: string, development: boolean): OwnApi {
  if (!isPlain(api))
    throw wrong(`\`${where}\` is { type: 'openapi', url: 'https://…/openapi.json', description: 'Orders' }.`)
  refuseUnknown(where, api, ['type', 'url', 'description', 'resource'])
  const { type, url, description, resource } = api
  if (type !== 'openapi' && type !== 'mcp')
    throw wrong(`\`${where}.type\` is 'openapi' or 'mcp': the protocol has no other type of API.`)
  if (typeof url !== 'string' || !isServiceUrl(url, development) || new URL(url).href !== url)
    throw wrong(
      `\`${where}.url\` is a whole address with https:, in the form browsers write it, such as 'https://api.miramar.example/openapi.json'.`,
    )
  if (typeof description !== 'string' || description.trim() === '')
    throw wrong(`\`${where}.description\` says what the API is for, such as 'Orders, returns, and exchanges'.`)
  if (type === 'openapi') {
    if (resource !== undefined) checkResource(resource, `${where}.resource`)
    return Object.freeze({
      type,
      url,
      description,
      ...(resource === undefined ? {} : { resource: resource as string }),
    })
  }
  if (resource !== undefined && resource !== url)
    throw wrong(`\`${where}.resource\`: an MCP server's resource is its url. Leave it out.`)
  if (url.includes('?')) throw wrong(`\`${where}.url\`: an MCP server's url has no query, since tokens name it.`)
  return Object.freeze({ type, url, description })
}

function checkResource(resource: unknown, setting: string): asserts resource is string {
  // RFC 8707, 2: an absolute URI without a fragment. Compared as a string, so it has one spelling.
  const isUri =
    typeof resource === 'string' && /^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/.test(resource) && URL.canParse(resource)
  if (!isUri || resource.length > 2048 || /["\\#<>]/.test(resource))
    throw wrong(
      `\`${setting}\` is an absolute address that names the service, without #, such as 'https://api.miramar.example/orders'.`,
    )
}
