import { PoppyError } from '@poppyseed/protocol'

/** Finds who answers a request: exact paths, one level below a prefix, and a word below that. Nothing of the protocol is known here. */

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

/**
 * @param routes by path; a path that ends in `/*` takes one segment more, which the handler gets decoded, and so does one
 * that ends in `/*` and a word, such as `/*\/confirm`
 */
export function createRouter(routes: Readonly<Record<string, Route>>): Router {
  const exact = new Map<string, Route>()
  const below = new Map<string, { readonly route: Route; readonly template: string }>()
  for (const [path, route] of Object.entries(routes)) {
    if (/\/\*(?:\/|$)/.test(path)) below.set(path, { route, template: path.replace('*', '{name}') })
    else exact.set(path, route)
  }
  return {
    find(pathname) {
      const route = exact.get(pathname)
      if (route) return { route, rest: '', template: pathname }
      for (const { pattern, rest } of patternsOf(pathname)) {
        const parent = below.get(pattern)
        if (parent) return { ...parent, rest: decode(rest) }
      }
      return null
    },
  }
}

/** The patterns that a path can be one of, with the segment that the handler gets: `/a/*`, and `/a/*\/b`. */
export function patternsOf(pathname: string): readonly { readonly pattern: string; readonly rest: string }[] {
  const [, before = '', middle = '', last = ''] = /^(?:(.*)\/)?([^/]*)\/([^/]*)$/.exec(pathname) ?? []
  const above = pathname.slice(0, pathname.length - last.length - 1)
  return [
    ...(last === '' ? [] : [{ pattern: `${above}/*`, rest: last }]),
    ...(last === '' || middle === '' ? [] : [{ pattern: `${before}/*/${last}`, rest: middle }]),
  ]
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
