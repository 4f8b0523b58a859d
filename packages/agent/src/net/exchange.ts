import { AgentError } from '../errors.ts'
import { privateAddressCode } from './public-fetch.ts'

/** One HTTP exchange with limits: no redirects, a time limit, and a body that is read up to a size and no further. */

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Sends one request. Redirects are never followed here: who may follow one says so elsewhere. */
export async function send(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  limits: { readonly seconds: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<Response> {
  const timeout = limits.seconds === undefined ? undefined : AbortSignal.timeout(limits.seconds * 1000)
  const signal = AbortSignal.any([limits.signal, timeout].filter((one) => one !== undefined))
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal })
  } catch (error) {
    if (error instanceof AgentError) throw error
    // The host's own abort is the host's: it passes through as it is.
    if (limits.signal?.aborted) throw limits.signal.reason
    const code = codeOf(error)
    if (code === privateAddressCode) {
      throw new AgentError('unreachable', `${new URL(url).host} is inside a private network, so it was not asked.`, {
        action: 'give_up',
      })
    }
    throw new AgentError(
      'unreachable',
      timeout?.aborted
        ? `${new URL(url).host} did not answer within ${limits.seconds} seconds.`
        : `${new URL(url).host} can't be reached${code === undefined ? '' : ` (${code})`}.`,
    )
  }
}

/** Reads a body of at most `maxBytes` bytes as UTF-8. */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of response.body ?? []) {
      size += part.byteLength
      if (size > maxBytes) throw tooLarge(maxBytes)
      parts.push(part)
    }
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw new AgentError('unreachable', 'The connection ended before the whole answer arrived.')
  }
  return new TextDecoder().decode(Buffer.concat(parts))
}

/**
 * The same answer with a body that fails once it is too large, for readers that have no limit of their own. A stream of
 * events may go on for ever, so there each event is counted by itself.
 */
export function withBoundedBody(response: Response, maxBytes: number): Response {
  if (response.body === null) return response
  const isEvents = /^text\/event-stream *(?:;|$)/i.test(response.headers.get('content-type') ?? '')
  const count = isEvents ? countEvent() : countAll()
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        if (count(part) > maxBytes) throw tooLarge(maxBytes)
        controller.enqueue(part)
      },
    }),
  )
  return new Response(bounded, { status: response.status, statusText: response.statusText, headers: response.headers })
}

function countAll(): (part: Uint8Array) => number {
  let size = 0
  return (part) => {
    size += part.byteLength
    return size
  }
}

/** Bytes since the last blank line, which ends an event; lines end in CR, LF or both. */
function countEvent(): (part: Uint8Array) => number {
  let size = 0
  let previous = 0
  let isEmptyLine = true
  return (part) => {
    let most = size
    for (const byte of part) {
      size += 1
      if (byte === 0x0d || (byte === 0x0a && previous !== 0x0d)) {
        if (isEmptyLine) size = 0
        isEmptyLine = true
      } else if (byte !== 0x0a) {
        isEmptyLine = false
      }
      previous = byte
      most = Math.max(most, size)
    }
    return most
  }
}

function tooLarge(maxBytes: number): AgentError {
  return new AgentError(
    'bad_answer',
    `The answer is larger than ${Math.round(maxBytes / 1024)} KB, so it was not read.`,
  )
}

/** Whether the answer sends the caller elsewhere. */
export function isRedirect(response: Response): boolean {
  return response.type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(response.status)
}

/** Network errors by their system code alone: the rest of an error may quote the request. */
function codeOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z0-9_]{3,60}$/.test(cause.code)) return cause.code
  }
  return undefined
}
