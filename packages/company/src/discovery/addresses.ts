import { oauthMetadataUrl, resourceMetadataUrl } from '@poppyseed/protocol'

/**
 * Section 3: every URL that the Company publishes, made here and nowhere else, from the configuration alone. Never from a
 * request: what a request says of its host and path depends on proxies, and on whoever sent it.
 */

/** Where everything is, below the public path prefix. The well-known documents stay at the root of the host. */
const paths = {
  token: '/poppy/token',
  revoke: '/poppy/revoke',
  authorize: '/poppy/authorize',
  mcp: '/poppy/mcp',
  openapi: '/poppy/openapi.json',
  tools: '/poppy/tools',
  logo: '/poppy/agents/logo',
  browserSession: '/poppy/browser-session',
  deviceAuthorization: '/poppy/device-authorization',
  device: '/poppy/device',
  agents: '/poppy/agents',
  mediated: '/poppy/sign-in',
  operations: '/poppy/operations',
  conversations: '/poppy/conversations',
  inbox: '/poppy/inbox',
} as const

/** What the addresses are made of. */
export interface AddressSettings {
  /** `https://miramar.example`, as browsers write it. */
  readonly origin: string
  /** The public path prefix, such as `/svc2`; empty where there is none. */
  readonly basePath?: string
  /** The issuer (3.2), as it is published; left out, origin and prefix. */
  readonly issuer?: string
  /** Whether the proxy before us takes the prefix away. */
  readonly stripsBasePath?: boolean
}

/** See {@link createAddresses}. All but the paths are absolute URLs, as published and as compared. */
export interface Addresses {
  readonly origin: string
  readonly basePath: string
  readonly issuer: string
  readonly token: string
  readonly revoke: string
  readonly authorize: string
  /** The MCP server; its URL is its resource too (4.3). */
  readonly mcp: string
  readonly openapi: string
  /** Before `/{name}`. */
  readonly tools: string
  /** Before an agent's own part: pictures for the consent page (4.5). */
  readonly logo: string
  /** Where a Personal Agent's browser joins its Session (5). */
  readonly browserSession: string
  /** Where an agent asks for a pair of codes (4.6). */
  readonly deviceAuthorization: string
  /** Where a person brings the code (4.6). */
  readonly device: string
  /** Where a person sees and ends connections (4.9). */
  readonly agents: string
  /** Where credentials are sent (4.7); one-time codes go to `/{sign_in_id}` below it. */
  readonly mediated: string
  /** Where operations are read, confirmed and cancelled: before `/{id}`. */
  readonly operations: string
  /** Where conversations start (7.2); each is at `/{id}` below it. */
  readonly conversations: string
  /** Where the company's own people see and answer conversations. Nothing of it is published. */
  readonly inbox: string
  /** The company's own page for an operation. */
  readonly operationPage: (id: string) => string
  /** The path of `poppy.json`, the same at each of the Company's domains (3). */
  readonly poppyPath: string
  /** Where the issuer's metadata is (3.2, RFC 8414). */
  readonly oauthMetadata: string
  /** Where the MCP server's metadata is (6, RFC 9728). */
  readonly mcpMetadata: string
  /** The public URL of a page or endpoint of ours, such as `/poppy/device`. */
  readonly urlOf: (path: string) => string
  /** The path at which a request for one of our public URLs reaches us: the key of its route. */
  readonly routeOf: (url: string) => string
  /**
   * The URL, without query, that the caller of a request asked for: `htu` (4.3).
   * @param at another configured origin, where the site has an API of its own
   */
  readonly askedFor: (request: Request, at?: string) => string
}

/** Makes every URL of the Company, prefix and all. */
export function createAddresses(settings: AddressSettings): Addresses {
  const { origin, basePath = '', stripsBasePath = false } = settings
  const root = origin + basePath
  const issuer = settings.issuer ?? root
  const urlOf = (path: string) => root + path
  const seen = stripsBasePath ? basePath : ''
  const mcp = urlOf(paths.mcp)
  return Object.freeze<Addresses>({
    origin,
    basePath,
    issuer,
    token: urlOf(paths.token),
    revoke: urlOf(paths.revoke),
    authorize: urlOf(paths.authorize),
    mcp,
    openapi: urlOf(paths.openapi),
    tools: urlOf(paths.tools),
    logo: urlOf(paths.logo),
    browserSession: urlOf(paths.browserSession),
    deviceAuthorization: urlOf(paths.deviceAuthorization),
    device: urlOf(paths.device),
    agents: urlOf(paths.agents),
    mediated: urlOf(paths.mediated),
    operations: urlOf(paths.operations),
    conversations: urlOf(paths.conversations),
    inbox: urlOf(paths.inbox),
    operationPage: (id) => urlOf(`${paths.operations}/${id}/page`),
    poppyPath: '/.well-known/poppy.json',
    oauthMetadata: oauthMetadataUrl(issuer),
    mcpMetadata: resourceMetadataUrl(mcp),
    urlOf,
    routeOf(url) {
      const { pathname } = new URL(url)
      // A proxy takes the prefix from what stands below it; the well-known documents don't.
      return seen !== '' && pathname.startsWith(`${seen}/`) ? pathname.slice(seen.length) : pathname
    },
    // K04, K05: the configured origin and prefix, whatever name and path the request came by
    askedFor: (request, at = origin) => at + (at === origin ? seen : '') + new URL(request.url).pathname,
  })
}

/** The path of one of our URLs, as a page writes it and a person comes back to it. */
export function publicPath(url: string): string {
  return new URL(url).pathname
}
