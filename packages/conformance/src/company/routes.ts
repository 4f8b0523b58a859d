import type { Reply } from '../delivery.ts'
import type { Exchange } from './exchange.ts'
import type { RouteName } from './switches.ts'

/** Which path is what, and where redirects lead. */

const routes: Readonly<Record<string, RouteName>> = {
  '/.well-known/poppy.json': 'poppy.json',
  '/.well-known/oauth-authorization-server': 'oauth-metadata',
  '/.well-known/oauth-protected-resource/mcp': 'mcp-metadata',
  '/openapi.json': 'openapi',
  '/token': 'token',
  '/revoke': 'revoke',
  '/authorize': 'authorize',
  '/device-authorization': 'device',
  '/sign-in': 'sign-in',
  '/mcp': 'mcp',
}

/** Below this prefix the same documents are hosted elsewhere, which 3 allows. */
const hosted = '/hosted'

/** What answers at a path. */
export function routeOf(path: string): RouteName {
  if (path.startsWith('/api/')) return 'tool'
  if (path.startsWith('/sign-in/')) return 'sign-in'
  if (path.startsWith('/operations/')) return 'operations'
  if (path === '/conversations' || path.startsWith('/conversations/'))
    return path.endsWith('/events') ? 'events' : 'conversations'
  const bare = isHosted(path) ? path.slice(hosted.length) : path
  return (Object.hasOwn(routes, bare) ? routes[bare] : undefined) ?? 'nowhere'
}

/** Whether a path is where a redirect ends well. */
function isHosted(path: string): boolean {
  return path.startsWith(`${hosted}/`)
}

/** Whether a request is sent elsewhere. Only documents are hosted elsewhere. */
export function isRedirected({ path, route, switches }: Exchange): boolean {
  if (switches.redirect === 'none' || isHosted(path)) return false
  return switches.redirect !== 'hosted' || route === 'poppy.json' || route === 'oauth-metadata'
}

/** The redirect that a switch asks for. */
export function redirect({ path, switches, query }: Exchange, origin: string, trap: string): Reply {
  const hop = Number(query.get('hop') ?? 0) + 1
  const targets = {
    none: path,
    hosted: `${origin}${hosted}${path}`,
    http: trap + path,
    trap: trap + path,
    private: `${new URL(origin).protocol}//169.254.169.254${path}`,
    loop: path,
    chain: `${path}?hop=${hop}`,
  }
  return { status: 307, headers: { location: targets[switches.redirect] }, body: '' }
}
