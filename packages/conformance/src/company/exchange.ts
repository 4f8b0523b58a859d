import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { RouteName, Switches } from './switches.ts'

/** One request and what became of it. */
export interface Exchange {
  /** Counts up in the order of arrival. */
  readonly number: number
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly form: URLSearchParams
  readonly route: RouteName
  /** What the Company does wrong with this request. */
  readonly switches: Readonly<Switches>
  /** The Company's clock at its arrival, in milliseconds since 1970. */
  readonly now: number
  readonly socket: Socket
  /** Milliseconds of a clock that nobody moves. */
  readonly arrivedAt: number
  /** The same, once the whole answer was handed over; null while it wasn't. */
  deliveredAt: number | null
  status: number
}

/** What of a request may be read afterwards: no secret. */
export interface RecordedRequest {
  readonly number: number
  readonly method: string
  readonly path: string
  readonly route: RouteName
  /** The status that was answered, or was going to be when the connection was cut. */
  readonly status: number
  /** The Company's clock, in milliseconds since 1970. */
  readonly at: number
  /** Names of the parameters in the query and in the form, sorted. */
  readonly parameters: readonly string[]
}

const longest = 1_048_576

/** Reads a whole request body; what is too long is cut off there. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.byteLength
    if (size <= longest) parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
