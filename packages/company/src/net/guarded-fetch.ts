import { isLoopbackHost } from '@poppyseed/protocol'
import type { Dispatcher } from 'undici'
import { isPublicAddress } from './addresses.ts'
import { guardedConnector } from './connector.ts'
import { FetchRefused } from './fetch-refused.ts'
import { createDnsLookup, type Lookup } from './resolve.ts'

/** Fetches what strangers name (4.1, 4.5): the one way out of this library into the internet. */

/** What may be set about fetching. The defaults are right for production. */
export interface GuardedFetchOptions {
  /** Development only: loopback hosts may be fetched, over `http:` too. */
  readonly allowLoopback?: boolean
  /** Certificate authorities (PEM) to trust instead of Node's own. */
  readonly ca?: string | readonly string[]
  /** Resolves a host name; DNS queries when left out. */
  readonly lookup?: Lookup
  /** Whether an address may be dialled; {@link isPublicAddress} when left out. */
  readonly isAllowedAddress?: (address: string) => boolean
  /** Milliseconds for everything, from the name to the last byte; 5,000 when left out. */
  readonly timeout?: number
}

/** What one request asks for. */
export interface GuardedRequest {
  /** The value of `Accept`. */
  readonly accept: string
  /** Bytes of the body. */
  readonly maxBytes: number
  /** Looks at the headers before the body is read, and throws a {@link FetchRefused}. */
  readonly checkHeaders?: (headers: Headers) => void
}

/**
 * Fetches the bytes at exactly this URL.
 * @throws FetchRefused whatever went wrong
 */
export type GuardedFetch = (
  url: string,
  request: GuardedRequest,
) => Promise<{ readonly body: Uint8Array; readonly headers: Headers }>

/**
 * Makes a fetcher that can't be sent anywhere but to the public HTTPS host it was asked for: no redirect is followed,
 * the address is checked when it is dialled, and time and size are bounded. `close` breaks off what runs; later calls are
 * refused.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch & { readonly close: () => void } {
  const { allowLoopback = false, timeout = 5000 } = options
  const running = new Set<AbortController>()
  let isClosed = false

  const guardedFetch: GuardedFetch = async (address, request) => {
    if (isClosed) throw new FetchRefused('closed')
    const url = readUrl(address, allowLoopback)
    // Loaded with the first document: it is the heaviest part of the library, and its loading is nobody's slowness.
    const { buildConnector, Client } = await import('undici')
    // Closed while it was loading: `close` found nothing to break off.
    if (isClosed) throw new FetchRefused('closed')
    const ending = new AbortController()
    const { signal } = ending
    // One clock for everything: a host that sends a byte now and then never looks idle.
    const timer = setTimeout(() => ending.abort(new FetchRefused('timeout')), timeout)
    running.add(ending)
    const connect = guardedConnector({
      buildConnector,
      allowLoopback,
      ca: options.ca,
      lookup: options.lookup ?? createDnsLookup(),
      isAllowedAddress: options.isAllowedAddress ?? isPublicAddress,
      timeout,
      signal,
    })
    // One client for one request: no pool of strangers' connections, and whatever is open ends with it.
    const client = new Client(url.origin, { connect, pipelining: 0, maxHeaderSize: 16_384, allowH2: false })
    try {
      const response = await client.request({
        method: 'GET',
        path: url.pathname + url.search,
        headers: { accept: request.accept, 'accept-encoding': 'identity', 'user-agent': 'poppyseed' },
        signal,
      })
      const headers = readHeaders(response)
      request.checkHeaders?.(headers)
      return { body: await readBody(response, headers, request.maxBytes), headers }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw error instanceof FetchRefused ? error : new FetchRefused('unreachable')
    } finally {
      clearTimeout(timer)
      running.delete(ending)
      // Also ends a body that is still coming.
      await client.destroy()
    }
  }

  function close(): void {
    isClosed = true
    for (const ending of running) ending.abort(new FetchRefused('closed'))
  }
  return Object.assign(guardedFetch, { close })
}

function readUrl(address: string, allowLoopback: boolean): URL {
  const url = URL.parse(address)
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') throw new FetchRefused('bad_url')
  if (url.protocol === 'https:') return url
  if (url.protocol === 'http:' && allowLoopback && isLoopbackHost(url.hostname)) return url
  throw new FetchRefused('not_https')
}

/** Checks all that can be known before the body. */
function readHeaders(response: Dispatcher.ResponseData): Headers {
  // A redirect is one more status that isn't 200 (4.1: client_id equals the URL fetched).
  if (response.statusCode !== 200) throw new FetchRefused('bad_status')
  const headers = new Headers()
  for (const [name, value] of Object.entries(response.headers)) {
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one)
  }
  // Nothing here unpacks: a few packed kilobytes can be gigabytes.
  if (!/^(?:identity)?$/i.test(headers.get('content-encoding') ?? '')) throw new FetchRefused('bad_encoding')
  return headers
}

async function readBody(response: Dispatcher.ResponseData, headers: Headers, maxBytes: number): Promise<Uint8Array> {
  if (Number(headers.get('content-length') ?? 0) > maxBytes) throw new FetchRefused('too_large')
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new FetchRefused('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
