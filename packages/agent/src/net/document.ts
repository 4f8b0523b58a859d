import { isServiceUrl, JsonError, parseStrictJson } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { freshFor, mayKeep, mustAsk } from './caching.ts'
import { type Fetch, isRedirect, readText, send } from './exchange.ts'
import type { Patience } from './patience.ts'

/** Documents that a Company publishes (3, 3.2, 6), fetched with limits and kept as their caching headers say. */

/** What a document of a Company may be: how large, and over what. */
export interface DocumentRules {
  readonly maxBytes: number
  /** How many values it may have, where a schema judges it; no bound of its own when left out. */
  readonly maxValues?: number
  /** Development only: `http:` on a loopback host. */
  readonly allowHttp: boolean
  /** What the document is, for a person: "poppy.json of example.com". */
  readonly what: string
}

interface Kept {
  readonly value: unknown
  /** Bytes that it came in. */
  readonly size: number
  readonly etag: string | null
  readonly freshUntil: number
  /** Its headers forbid using it without asking. */
  readonly mustAsk: boolean
}

type Ask = (url: string, headers: Record<string, string>) => Promise<Response>

/** Reads documents by URL; a memory of its own, bounded. */
export type DocumentReader = (url: string, rules: DocumentRules) => Promise<unknown>

const maxRedirects = 5
const maxKept = 500
/** All that is kept together, in the bytes that it came in; read, it takes some times as much. */
const maxKeptBytes = 24 * 1024 * 1024

/** How long a document that can't be asked for again may still be used (RFC 9111, 4.2.4), in milliseconds. */
const staleFor = 60 * 60 * 1000

/** What a reader works with. */
export interface DocumentReaderOptions {
  readonly fetch: Fetch
  /** Unix time in milliseconds. */
  readonly now: () => number
  readonly patience: Patience
  /** For one answer, from the request to the last byte. */
  readonly seconds: number
  /** For a document, with all its redirects and all that a Company asks to wait. */
  readonly wholeSeconds: number
}

/** Makes a reader. */
export function createDocumentReader(options: DocumentReaderOptions): DocumentReader {
  const { fetch, now, patience, seconds, wholeSeconds } = options
  const kept = new Map<string, Kept>()
  const keep = (url: string, next: Kept | undefined) => {
    kept.delete(url)
    if (next) kept.set(url, next)
    let size = 0
    for (const one of kept.values()) size += one.size
    for (const [oldest, one] of kept) {
      if (kept.size <= maxKept && size <= maxKeptBytes) return
      kept.delete(oldest)
      size -= one.size
    }
  }
  return async (url, rules) => {
    const fresh = kept.get(url)
    if (fresh && fresh.freshUntil > now()) return fresh.value
    const whole = AbortSignal.timeout(wholeSeconds * 1000)
    const ask: Ask = (at, headers) =>
      patience({ method: 'GET', url: at, signal: whole }, () =>
        send(fetch, at, { headers }, { seconds, signal: whole }),
      )
    try {
      return await read(ask, url, rules)
    } catch (error) {
      if (error instanceof AgentError || !whole.aborted) throw error
      throw new AgentError('unreachable', `The ${rules.what} did not arrive in time.`)
    }
  }

  async function read(ask: Ask, url: string, rules: DocumentRules): Promise<unknown> {
    const before = kept.get(url)
    const asked = now()
    const response = await follow(ask, url, rules, before?.etag ?? null).catch((error: unknown) => {
      // A Company that is down for a moment is still the one that it was.
      const isDown = error instanceof AgentError && (error.code === 'unreachable' || error.code === 'rate_limited')
      if (isDown && before && asked < before.freshUntil + staleFor && !before.mustAsk) return null
      throw error
    })
    if (response === null) return before?.value
    if (response.status === 304 && before) {
      keep(url, { ...before, freshUntil: asked + freshFor(response.headers, asked) })
      await response.body?.cancel()
      return before.value
    }
    if (response.status !== 200) {
      await response.body?.cancel()
      keep(url, undefined)
      const missing = response.status === 404 || response.status === 410
      throw new AgentError(
        missing ? 'not_a_company' : response.status >= 500 || response.status === 429 ? 'unreachable' : 'bad_document',
        missing ? `There is no ${rules.what}.` : `The ${rules.what} can't be read: HTTP ${response.status}.`,
        { status: response.status },
      )
    }
    const text = await readText(response, rules.maxBytes)
    const value = parse(text, rules)
    const read: Kept = {
      value,
      size: text.length,
      etag: response.headers.get('etag'),
      freshUntil: asked + freshFor(response.headers, asked),
      mustAsk: mustAsk(response.headers),
    }
    keep(url, mayKeep(response.headers) ? read : undefined)
    return value
  }
}

/** 3: redirects are followed, each to an HTTPS URL, and no more than a few. */
async function follow(ask: Ask, asked: string, rules: DocumentRules, etag: string | null): Promise<Response> {
  let url = asked
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (etag !== null) headers['if-none-match'] = etag
    const response = await ask(url, headers)
    if (!isRedirect(response)) return response
    await response.body?.cancel()
    const location = response.headers.get('location')
    const next = location === null ? null : URL.parse(location, url)
    if (next) next.hash = ''
    if (!next || !isServiceUrl(next.href, rules.allowHttp)) {
      throw new AgentError(
        'untrusted_company',
        `The ${rules.what} redirects to an address that is not HTTPS, so nothing was read.`,
      )
    }
    url = next.href
  }
  throw new AgentError('bad_document', `The ${rules.what} redirects more than ${maxRedirects} times.`)
}

function parse(text: string, rules: DocumentRules): unknown {
  try {
    return parseStrictJson(text, 64, rules.maxValues)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new AgentError('bad_document', `The ${rules.what} is not usable: ${error.message}`)
  }
}
