import { PoppyError } from '@poppyseed/protocol'

/** Finds who answers a request: exact paths and one level below a prefix. Nothing of the protocol is known here. */

/** Answers a request; `rest` is the decoded segment below a `/*` path, and empty elsewhere. */
export type Handler = (request: Request, rest: string) => Response | Promise<Response>

/** What answers at one path, by method. */
export interface Route {
  readonly methods: Readonly<Record<string, Handler>>
  /** Whether pages of other origins may call it: endpoints with tokens, never those with cookies. */
  readonly crossOrigin: boolean
  /** Whether every host of the site's answers it, and not only the one that it is published at. */
  readonly atEachHost?: boolean
  /** How an error is told here. */
  readonly fail: (error: unknown, request: Request) => Response | Promise<Response>
}

/** Finds the route of a path; `template` is the path as it stands for all that go there, such as `/tools/{name}`. */
export interface Router {
  readonly find: (
    pathname: string,
  ) => { readonly route: Route; readonly rest: string; readonly template: string } | null
}

/** @param routes by path; a path that ends in `/*` takes one segment more, which the handler gets decoded */
export function createRouter(routes: Readonly<Record<string, Route>>): Router {
  const exact = new Map<string, Route>()
  const below = new Map<string, { readonly route: Route; readonly template: string }>()
  for (const [path, route] of Object.entries(routes)) {
    if (path.endsWith('/*')) below.set(path.slice(0, -2), { route, template: `${path.slice(0, -1)}{name}` })
    else exact.set(path, route)
  }
  return {
    find(pathname) {
      const route = exact.get(pathname)
      if (route) return { route, rest: '', template: pathname }
      const slash = pathname.lastIndexOf('/')
      const parent = below.get(pathname.slice(0, slash))
      const rest = pathname.slice(slash + 1)
      return parent && rest !== '' ? { ...parent, rest: decode(rest) } : null
    },
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The methods of a route, as `Allow` lists them. */
export function allowOf(route: Route): string {
  const methods = Object.keys(route.methods)
  const head = methods.includes('GET') ? ['HEAD'] : []
  return [...methods, ...head, ...(route.crossOrigin ? ['OPTIONS'] : [])].join(', ')
}

/** Picks the handler of a method; HEAD is answered as GET, and the listener leaves out the body. */
export function handlerOf(route: Route, method: string): Handler {
  const name = method === 'HEAD' ? 'GET' : method
  // A method may have any name, "constructor" among them.
  const handler = Object.hasOwn(route.methods, name) ? route.methods[name] : undefined
  if (!handler) {
    const allow = allowOf(route)
    throw new PoppyError('method_not_allowed', { description: `Use ${allow}.`, extra: { allow } })
  }
  return handler
}
