import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { refuseConfirmation } from '../operations/service.ts'
import type { SessionTokens, TokenWanted } from '../sessions/tokens.ts'
import { type AuthorisedRequest, authorisedFetch } from './authorised-fetch.ts'

/** `session.fetch`: any request to a service that the Company publishes, with the Session's token (4.3, 6). */

/** What `session.fetch` takes beside what `fetch` takes. */
export interface SessionFetchInit extends RequestInit {
  /** Which of the Company's services is meant, by its URL in `poppy.json`, where several share a host. */
  readonly api?: string
}

/** `fetch` for one Session. */
export type SessionFetch = (input: string | URL | Request, init?: SessionFetchInit) => Promise<Response>

/** A service that the Company publishes, and the token that it takes. */
interface Service {
  readonly url: string
  readonly wanted: TokenWanted
  /** Paths that are surely its own. */
  readonly paths: readonly string[]
}

/** @throws AgentError; what the Company answers is given back, a refusal of the token apart */
export async function sessionFetch(
  context: AgentContext,
  found: FoundCompany,
  tokens: SessionTokens,
  input: string | URL | Request,
  init: SessionFetchInit = {},
): Promise<Response> {
  const given = input instanceof Request ? input : undefined
  const url = targetOf(input instanceof Request ? input.url : String(input))
  const { wanted } = serviceFor(found, url, init.api)
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase()
  refuseConfirmation(found, context.allowHttp, method, url.href)
  const headers = new Headers(init.headers ?? given?.headers)
  for (const name of ['authorization', 'dpop']) {
    if (headers.has(name)) throw invalid(`session.fetch sets ${name} itself: leave it out.`)
  }
  const body = await bodyOf(given, init, headers)
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) throw invalid(`${method} takes no body.`)
  const signal = init.signal ?? given?.signal ?? undefined
  signal?.throwIfAborted()
  const response = await authorisedFetch(
    context,
    tokens,
    { method, url: url.href, headers, body, signal, seconds: undefined },
    {
      company: found.name,
      origin: url.origin,
      wanted,
      givesRedirects: (init.redirect ?? given?.redirect) === 'manual',
    },
  )
  return Object.defineProperty(response, 'url', { value: url.href })
}

function targetOf(text: string): URL {
  const url = URL.parse(text)
  if (!url) throw invalid('session.fetch takes a whole address, such as https://api.example.com/orders.')
  if (url.username !== '' || url.password !== '') throw invalid('An address with a name or password is not called.')
  url.hash = ''
  return url
}

/** Finds the service that an address belongs to. A token goes to what the Company published and to nobody else. */
function serviceFor(found: FoundCompany, target: URL, api: string | undefined): Service {
  const services = servicesOf(found)
  const chosen = services.filter(({ url, wanted }) => {
    if (api !== undefined && url !== api) return false
    const published = new URL(url)
    published.hash = ''
    // 4.3: a Bearer token works at the MCP server's own url, so nothing else is called with it
    return wanted.kind === 'bearer' ? published.href === target.href : published.origin === target.origin
  })
  const [first] = chosen
  if (!first) {
    const isKnown = api === undefined || services.some(({ url }) => url === api)
    throw isKnown
      ? new AgentError(
          'foreign_origin',
          `${target.host} is not where ${found.name} publishes ${api === undefined ? 'a service' : 'this service'}, so nothing was sent.`,
        )
      : new AgentError('unknown_operation', `${found.name} does not list this service, so nothing was sent to it.`)
  }
  const bearer = chosen.find(({ wanted }) => wanted.kind === 'bearer')
  if (bearer) return bearer
  const likely = longestMatch(chosen, target.pathname)
  if (new Set(likely.map(({ wanted }) => wanted.resource)).size > 1) {
    throw invalid(`${found.name} has several services at ${target.host} with tokens of their own: name one with api.`)
  }
  return likely[0] ?? first
}

/** Those whose own path goes furthest towards the target; all, where none does. */
function longestMatch(services: readonly Service[], path: string): readonly Service[] {
  const lengthOf = ({ paths }: Service) =>
    Math.max(
      0,
      ...paths.filter((one) => path === one || path.startsWith(one.replace(/\/?$/, '/'))).map((one) => one.length),
    )
  const longest = Math.max(...services.map(lengthOf))
  return services.filter((service) => lengthOf(service) === longest)
}

function servicesOf({ discovery }: FoundCompany): readonly Service[] {
  const dpop = (url: string, resource: string | undefined, own: string): Service => ({
    url,
    wanted: { kind: 'dpop', resource },
    paths: [own, ...(resource === undefined ? [] : pathOn(resource, url))],
  })
  return [
    ...discovery.apis.flatMap((api): readonly Service[] => {
      if (api.type === 'mcp') return [{ url: api.url, wanted: { kind: 'bearer', resource: api.url }, paths: [] }]
      // 6: what surrounds the document; other types are skipped
      return api.type === 'openapi' ? [dpop(api.url, api.resource, new URL('.', api.url).pathname)] : []
    }),
    ...discovery.conversations.map(({ endpoint, resource }) => dpop(endpoint, resource, new URL(endpoint).pathname)),
  ]
}

function pathOn(resource: string, url: string): readonly string[] {
  const parsed = URL.parse(resource)
  return parsed?.origin === new URL(url).origin ? [parsed.pathname] : []
}

/** The body: what is at hand as bytes, so that it can be sent again; a stream as it is. Sets its type where none is said. */
async function bodyOf(
  given: Request | undefined,
  init: SessionFetchInit,
  headers: Headers,
): Promise<AuthorisedRequest['body']> {
  const { body } = init
  if (body === undefined || body === null) {
    // A Request doesn't tell whether its stream was bytes once, so it is read.
    return given?.body ? new Uint8Array(await given.arrayBuffer()) : undefined
  }
  if (body instanceof ReadableStream) return body
  const read = new Response(body)
  const type = read.headers.get('content-type')
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
  return typeof body === 'string' ? body : new Uint8Array(await read.arrayBuffer())
}

function invalid(message: string): AgentError {
  return new AgentError('invalid_input', message)
}
