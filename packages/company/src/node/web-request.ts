import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { goneAddress, notePeerAddress } from '../http/peer-address.ts'

/** Between Node's requests and the Web's, for what a site on Node asks its Company beside the Company's own paths. */

/** Express and Connect take the mount's path off `url` and keep what was asked in `originalUrl`. */
type Asked = IncomingMessage & { readonly originalUrl?: string }

/** What was asked, as the client wrote it. */
export function writtenTargetOf(request: IncomingMessage): string {
  return (request as Asked).originalUrl ?? request.url ?? ''
}

/** What was asked, as the client wrote it, but for a name and password in it: no Web Request can have them. */
export function targetOf(request: IncomingMessage): string {
  const target = writtenTargetOf(request)
  if (!isWholeUrl(target)) return target
  const url = URL.parse(target)
  if (url === null) return target
  url.username = ''
  url.password = ''
  return url.href
}

/** RFC 9112, 3.2.2: to a proxy the whole URL is written, and a server has to take that too. */
const isWholeUrl = (target: string) => /^https?:\/\//i.test(target)

/** What a `Host` may be made of. Anything else would be read as a password, a path or a query of the URL. */
const hostCharacters = /^[\w.:[\]-]+$/
/** The host where `Host` is none: a name that nobody has (RFC 6761). The header itself stays, and is refused as it is. */
const noHost = 'unreadable.invalid'

/**
 * The URL of a request, or null where there is none that a Web Request could have. `Host` is the client's word: the
 * Company takes no address that it publishes, and none that it checks a proof against, from here.
 */
export function urlOf(request: IncomingMessage): string | null {
  const target = targetOf(request)
  if (isWholeUrl(target)) return URL.parse(target)?.href ?? null
  if (!target.startsWith('/')) return null
  const scheme = 'encrypted' in request.socket && request.socket.encrypted === true ? 'https' : 'http'
  const host = request.headers.host ?? request.headers[':authority'] ?? 'localhost'
  // Joined as text: resolved against a base, a target that begins with two slashes would name a host.
  const parse = (name: string) => URL.parse(`${scheme}://${name}${target}`)?.href
  return (hostCharacters.test(String(host)) ? parse(String(host)) : undefined) ?? parse(noHost) ?? null
}

/**
 * A Node request as a Web Request without its body: what `company.authenticate`, `company.browserPrincipal` and
 * `company.owns` look at. The body stays with the site.
 *
 * ```ts
 * app.get('/api/bookings', async (req, res) => {
 *   const caller = await company.authenticate(toWebRequest(req), { scope: 'poppy:read' })
 *   if (caller instanceof Response) return sendResponse(caller, res)
 *   res.json(await bookings.of(caller.account))
 * })
 * ```
 * Nothing that a client sends makes it throw, which would end many a process: what has no URL, such as `OPTIONS *`, is a
 * request for nothing of anybody's.
 */
export function toWebRequest(request: IncomingMessage): Request {
  const { method = 'GET' } = request
  // The one method that Node takes and a Web Request doesn't.
  const isTrace = method === 'TRACE'
  const init = { method: isTrace ? 'GET' : method, headers: headersOf(request) }
  const web = new Request(urlOf(request) ?? `http://${noHost}/`, init)
  if (isTrace) Object.defineProperty(web, 'method', { value: method })
  noteNodeRequest(web, request)
  return web
}

/** Every header as it came: Node's own collection drops what is doubled, and the Company has to see that. */
export function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    // HTTP/2 names method, path and host in headers of its own.
    if (!name.startsWith(':')) headers.append(name, rawHeaders[at + 1] ?? '')
  }
  return headers
}

/** Sends a Web Response as the answer to a Node request. */
export async function sendResponse(answer: Response, response: ServerResponse): Promise<void> {
  const body = new Uint8Array(await answer.arrayBuffer())
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) {
    if (name !== 'set-cookie') response.setHeader(name, value)
  }
  // The site may have set some of its own.
  for (const cookie of answer.headers.getSetCookie()) response.appendHeader('set-cookie', cookie)
  response.end(body)
}

const nodeRequests = new WeakMap<Request, IncomingMessage>()

/**
 * Notes which Node request is behind a Web one, for {@link nodeRequestOf} and for limits by address (4.3). `toNodeHandler`
 * and `toWebRequest` do it themselves; a framework that makes Web Requests of its own has the Node request at hand.
 *
 * ```ts
 * noteNodeRequest(c.req.raw, c.env.incoming) // in Hono on @hono/node-server
 * ```
 */
export function noteNodeRequest(web: Request, request: IncomingMessage): void {
  nodeRequests.set(web, request)
  const address = addressOf(request)
  // A Unix socket has none: then whoever is behind it is the company's to tell.
  if (address !== undefined) notePeerAddress(web, address)
}

const addresses = new WeakMap<Socket, string>()

/**
 * From where a request came. A socket that is closed tells no address any more, and whoever sent something and left at once
 * would be counted nowhere: so it is asked for when the request arrives, and one that nobody asked for has a name of its own.
 */
export function addressOf({ socket }: IncomingMessage): string | undefined {
  const { remoteAddress } = socket
  if (remoteAddress !== undefined) addresses.set(socket, remoteAddress)
  return remoteAddress ?? addresses.get(socket) ?? (socket.destroyed ? goneAddress : undefined)
}

/**
 * The Node request behind a Web Request that `toNodeHandler` or `toWebRequest` made, with all that the site's own
 * middleware has put on it; undefined for any other.
 *
 * ```ts
 * account: (request) => nodeRequestOf<express.Request>(request)?.session.member ?? null
 * ```
 */
export function nodeRequestOf<Kind extends IncomingMessage = IncomingMessage>(web: Request): Kind | undefined {
  return nodeRequests.get(web) as Kind | undefined
}
