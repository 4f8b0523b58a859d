import { resourceMetadataUrl } from '@poppyseed/protocol'
import type { CheckedConfig, CompanyConfig } from './config.ts'
import { conversationWords } from './conversations/settings.ts'
import { createAddresses } from './discovery/addresses.ts'
import { patternsOf } from './http/router.ts'
import { apiPathsOf } from './inbox/api-paths.ts'
import { inboxPaths } from './inbox/paths.ts'

/**
 * Which paths are the Company's, known from the configuration alone: a site asks with each of its requests, and before
 * anything of the Company is loaded. `request-handler.ts` puts a route at each of them; a test holds the two together.
 */

/** Makes `company.owns`. */
export function createOwns(config: CompanyConfig, checked: CheckedConfig): (request: Request) => boolean {
  const addresses = createAddresses({ origin: config.origin, ...checked.reach })
  const { routeOf } = addresses
  const exact = new Set([addresses.poppyPath])
  /** Paths that take one segment more, as the router has them. */
  const below = new Set<string>()
  const add = (...urls: readonly string[]) => {
    for (const url of urls) exact.add(routeOf(url))
  }

  add(addresses.oauthMetadata, addresses.token, addresses.revoke, addresses.deviceAuthorization)
  for (const url of checked.apis.mcpServers) {
    // 6: one on another host publishes its metadata there, by itself
    if (new URL(url).origin === addresses.origin) add(resourceMetadataUrl(url))
  }
  if ((config.tools ?? []).length + checked.operations.list.length > 0) {
    add(addresses.openapi, addresses.mcp, addresses.mcpMetadata)
    below.add(`${routeOf(addresses.tools)}/*`)
  }
  if (checked.operations.list.length > 0) {
    const path = routeOf(addresses.operations)
    const words = ['', '/confirm', '/cancel', ...(checked.operations.hasPage ? ['/page'] : [])]
    for (const word of words) below.add(`${path}/*${word}`)
  }
  if (checked.conversations !== null) {
    const path = routeOf(addresses.conversations)
    exact.add(path)
    for (const word of conversationWords) below.add(`${path}/*/${word}`)
  }
  if (checked.inbox !== null) {
    const paths = inboxPaths(routeOf(addresses.inbox))
    for (const path of paths.exact) exact.add(path)
    for (const path of paths.below) below.add(path)
    for (const path of apiPathsOf(routeOf(addresses.inbox))) (path.includes('*') ? below : exact).add(path)
  }
  const { direct, device, mediated } = checked.signIn
  if (mediated) {
    add(addresses.mediated)
    below.add(`${routeOf(addresses.mediated)}/*`)
  }
  if (direct || device) {
    add(addresses.agents)
    if (direct) add(addresses.authorize)
    if (device) add(addresses.device)
    if (hasLogos(config)) below.add(`${routeOf(addresses.logo)}/*`)
  }
  if (checked.browser !== null) add(addresses.browserSession)

  return (request) => {
    // A listener may hand on a Host that no URL can have: that is no path of ours, and no error of the site's.
    const pathname = URL.parse(request.url)?.pathname ?? ''
    return exact.has(pathname) || patternsOf(pathname).some(({ pattern }) => below.has(pattern))
  }
}

/** 4.5: the company's own way to pictures, or ours beside our way to documents. */
function hasLogos({ agents, fetchDocument }: CompanyConfig): boolean {
  return typeof agents?.logos === 'function' || (fetchDocument === undefined && agents?.logos !== false)
}
