import type { IncomingMessage, ServerResponse } from 'node:http'
import { AnswerDropped } from '../faults/answer-dropped.ts'
import { sourceOf } from '../http/event-stream.ts'
import { sendStream } from './node-sink.ts'
import { addressOf, headersOf, noteNodeRequest, targetOf, urlOf, writtenTargetOf } from './web-request.ts'

/** A Company behind Node's own `http`, Express or Connect. */

/** What a handler needs of a Company. */
export interface Mountable {
  readonly fetch: (request: Request) => Promise<Response>
  readonly owns: (request: Request) => boolean
}

/** Answers what is the Company's, and calls `next` for all else; without `next`, all else is 404. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Makes the handler of a Company, for `http.createServer`, Express and Connect. It streams both ways, and a client that
 * goes away aborts the request's signal. Put it before anything that reads bodies, and after what your `account` needs.
 *
 * @example
 * app.use(toNodeHandler(company))
 * @example
 * const poppy = toNodeHandler(company)
 * createServer((request, response) => poppy(request, response, () => site(request, response)))
 */
export function toNodeHandler(company: Mountable): NodeHandler {
  let loading: Promise<Listener> | undefined

  return (request, response, next) => {
    if (next !== undefined && !isOwned(company, request)) {
      next()
      return
    }
    // Now: what is loaded, and what else comes first, may take longer than the connection lasts.
    addressOf(request)
    // Whatever a mount took off is the Company's to see.
    request.url = targetOf(request)
    loading ??= listenerOf(company)
    loading
      .then((listener) => listener(request, response))
      .catch((error: unknown) => {
        if (next) next(error)
        else response.destroy(error instanceof Error ? error : undefined)
      })
  }
}

/** A segment of a path that URL parsers take away, with the one before it or alone. */
const dotSegment = /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i

function isOwned(company: Mountable, request: IncomingMessage): boolean {
  // No client of ours sends one. A site that guards a path of ours by its beginning would be led around its guard.
  if (dotSegment.test(writtenTargetOf(request))) return false
  // What has no URL is no path of ours, and may mean something to the site.
  const url = urlOf(request)
  // Without the method: a Web Request can't be made with each that Node takes.
  return url !== null && company.owns(new Request(url, { headers: headersOf(request) }))
}

async function listenerOf(company: Mountable): Promise<Listener> {
  // Loaded with the first request: whoever mounts the Company elsewhere never needs it.
  const { getRequestListener } = await import('@hono/node-server')
  const { RESPONSE_ALREADY_SENT } = await import('@hono/node-server/utils/response')
  const listener = getRequestListener(
    (request, { incoming, outgoing }) => {
      const node = incoming as IncomingMessage
      // A Host such as 1.2.3.4.5 has the letters of one and is none.
      if (!URL.canParse(request.url)) return malformed()
      const mine = wasRead(node) ? withoutBody(request, node) : request
      noteNodeRequest(mine, node)
      return company.fetch(mine).then(
        (answer) => {
          const source = sourceOf(answer)
          if (source === undefined) return answer
          // Thousands of streams may be open: each costs little more than its connection.
          sendStream(answer, source, outgoing as ServerResponse)
          return RESPONSE_ALREADY_SENT
        },
        (error: unknown) => {
          if (error instanceof AnswerDropped) outgoing.destroy()
          throw error
        },
      )
    },
    // The site's Request and Response stay what they are.
    { overrideGlobalObjects: false, errorHandler: answerTo },
  )
  return listener
}

/** A Company answers its errors itself: what is left is a URL or a Host that nobody can read. */
function answerTo(error: unknown): Response | undefined {
  // Its connection is closed by now.
  if (error instanceof AnswerDropped) return undefined
  if (error instanceof Error && error.name === 'RequestError') return malformed()
  return refusal(500, 'server_error', 'Something went wrong on our side.')
}

function malformed(): Response {
  return refusal(400, 'invalid_request', 'The address or the Host of the request is malformed.')
}

function refusal(status: number, error: string, error_description: string): Response {
  return Response.json({ error, error_description }, { status, headers: { 'cache-control': 'no-store' } })
}

/** Whether somebody has read the body before. Exact bytes in `rawBody`, where some platforms keep them, do as well. */
function wasRead(request: IncomingMessage & { readonly rawBody?: unknown }): boolean {
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
  return hasBody && request.readableDidRead && !Buffer.isBuffer(request.rawBody)
}

/**
 * What a parser made of the body can't be turned back: two members of one name are refused, and a parser leaves one of
 * them. So reading it fails, with a sentence for the log.
 */
function withoutBody(request: Request, node: IncomingMessage): Request {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(
        new Error(
          'The body was read before the Company got the request. Mount it before express.json() and other body parsers.',
        ),
      )
    },
  })
  const init = { method: request.method, headers: headersOf(node), body, duplex: 'half', signal: request.signal }
  return new Request(request.url, init as RequestInit)
}
