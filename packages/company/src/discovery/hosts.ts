import { isLoopbackHost, PoppyError } from '@poppyseed/protocol'
import type { Logger } from '../store/database.ts'
import { domainAbove, withoutWww } from './domains.ts'

/**
 * Which names the Company answers to. A request's host chooses among what is configured, and nothing else: no address is
 * ever made of it. Strangers get 421 (K38).
 */

/** What {@link createHosts} needs. */
export interface HostSettings {
  readonly origin: string
  /** The main one first. */
  readonly domains: readonly string[]
  /** What an inner proxy calls this machine, as it stands in `Host`. */
  readonly inner?: readonly string[]
  /** Whether `X-Forwarded-Host` chooses, where it is there. */
  readonly forwardedHost?: boolean
  /** Origins of the company's own APIs, where they are others than `origin`. */
  readonly apiOrigins?: readonly string[]
  readonly log: Pick<Logger, 'warn'>
}

/** See {@link createHosts}. */
export interface Hosts {
  /**
   * Host names, without port, by which callers reach the Company: for the check against DNS rebinding, whose `Origin` and
   * `Host` may name no other.
   */
  readonly names: readonly string[]
  /** Request headers by which answers differ, for `Vary`; undefined where they don't. */
  readonly vary: string | undefined
  /**
   * Refuses a request for a host that isn't known.
   * @param isWellKnown whether it is for a document that each domain answers (3)
   * @throws PoppyError `misdirected_request`
   */
  readonly check: (request: Request, isWellKnown: boolean) => void
  /** Which of the Company's domains a request asks for; the main one where its host is no name of any. */
  readonly domainOf: (request: Request) => string
  /** On which of the configured origins a request asks for the site's own API: the Company's, or one of an entry's. */
  readonly originOf: (request: Request) => string
}

interface Known {
  /** What is answered there: all paths, the well-known documents, or nothing of the library's. */
  readonly answers: 'everything' | 'documents' | 'nothing'
  readonly domain: string
  readonly origin: string
}

/** Strange hosts that the log is told of. */
const maxTold = 20

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** Makes the list of hosts, from the configuration alone. */
export function createHosts(settings: HostSettings): Hosts {
  const { domains, inner = [], forwardedHost = false, apiOrigins = [], log } = settings
  const origin = new URL(settings.origin)
  const main = domains[0] as string
  const byHost = new Map<string, Known>()
  const learn = (host: string, known: Known) => {
    if (!byHost.has(host)) byHost.set(host, known)
  }
  const domainFor = (name: string) => domainAbove(name, domains) ?? main

  // Without its port too: many proxies pass the name on alone.
  for (const host of [origin.host, origin.hostname])
    learn(host, { answers: 'everything', domain: domainFor(origin.hostname), origin: origin.origin })
  for (const host of inner) {
    const key = keyOf(host)
    if (key) learn(key.host, { answers: 'everything', domain: domainFor(key.name), origin: origin.origin })
  }
  for (const domain of domains) {
    for (const name of [withoutWww(domain), `www.${withoutWww(domain)}`]) {
      const known: Known = { answers: 'documents', domain, origin: origin.origin }
      learn(name, known)
      if (origin.port !== '') learn(`${name}:${origin.port}`, known)
    }
  }
  for (const api of apiOrigins) learn(new URL(api).host, { answers: 'nothing', domain: main, origin: api })

  function keyOf(host: string): { readonly host: string; readonly name: string } | null {
    const parsed = parseHost(host)
    if (!parsed) return null
    const isDefault = parsed.port === (origin.protocol === 'https:' ? '443' : '80')
    return {
      name: parsed.name,
      host: parsed.port === undefined || isDefault ? parsed.name : `${parsed.name}:${parsed.port}`,
    }
  }

  function find(host: string): Known | null {
    const key = keyOf(host)
    if (!key) return null
    const known = byHost.get(key.host)
    if (known) return known
    // K04: what a proxy on this machine sends; no page of a stranger's can have such a name.
    if (isLoopbackHost(key.name)) return { answers: 'everything', domain: domainFor(key.name), origin: origin.origin }
    return null
  }

  function asked(request: Request): Known | null {
    const own = find(request.headers.get('host') ?? new URL(request.url).host)
    // A stranger's host stays one, whatever else the request says: a page that reached us by DNS rebinding can send any
    // header, but not another Host.
    if (own === null || !forwardedHost) return own
    const forwarded = request.headers.get('x-forwarded-host')
    return forwarded === null ? own : find(forwarded)
  }

  const told = new Set<string | null>()
  return {
    names: Object.freeze([
      ...new Set([origin.hostname, ...loopbackNames, ...inner.flatMap((host) => keyOf(host)?.name ?? [])]),
    ]),
    vary: domains.length > 1 ? `Host${forwardedHost ? ', X-Forwarded-Host' : ''}` : undefined,
    check(request, isWellKnown) {
      const known = asked(request)
      if (known?.answers === 'everything' || (isWellKnown && known?.answers === 'documents')) return
      const host = printable(request.headers.get('host'))
      // Scanners come by all sorts of names: each is told once, and not without end.
      if (told.size < maxTold && !told.has(host)) {
        told.add(host)
        log.warn(
          { host, origin: settings.origin },
          'a request for a host that is not the Company’s was refused. If a proxy of yours calls this machine so, write proxy: { hosts: […] }',
        )
      }
      throw new PoppyError('misdirected_request', {
        description: 'This host is not answered here.',
        reason: 'unknown host',
      })
    },
    domainOf: (request) => asked(request)?.domain ?? main,
    originOf: (request) => asked(request)?.origin ?? origin.origin,
  }
}

/**
 * Reads a `Host`: a name in lower case without the dot that may end it, and the port. Null for anything else, such as
 * quotes, commas or a user name.
 */
export function parseHost(host: string): { readonly name: string; readonly port: string | undefined } | null {
  if (host.length > 300) return null
  const match = /^(?:([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)\.?|(\[[0-9a-f:.]+\]))(?::(\d{1,5}))?$/.exec(host.toLowerCase())
  const name = match?.[1] ?? match?.[2]
  return name === undefined ? null : { name, port: match?.[3] }
}

/** What a stranger wrote, as a log may have it. */
function printable(host: string | null): string | null {
  return host === null ? null : host.replace(/[^\x21-\x7e]/g, '?').slice(0, 100)
}
