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
  readonly etag: string | null
  readonly freshUntil: number
  /** Its headers forbid using it without asking. */
  readonly mustAsk: boolean
}

type Ask = (url: string, headers: Record<string, string>) => Promise<Response>

/** Reads documents by URL; a memory of its own, bounded. */
export type DocumentReader = (url: string, rules: DocumentRules) => Promise<unknown>

const maxRedirects = 5
const seconds = 10
const maxKept = 500

/** How long a document that can't be asked for again may still be used (RFC 9111, 4.2.4), in milliseconds. */
const staleFor = 60 * 60 * 1000

/** Makes a reader. `now` is Unix time in milliseconds. */
export function createDocumentReader(fetch: Fetch, now: () => number, patience: Patience): DocumentReader {
  const ask: Ask = (url, headers) => patience({ method: 'GET', url }, () => send(fetch, url, { headers }, { seconds }))
  const kept = new Map<string, Kept>()
  return async (url, rules) => {
    const before = kept.get(url)
    if (before && before.freshUntil > now()) return before.value
    const asked = now()
    const response = await follow(ask, url, rules, before?.etag ?? null).catch((error: unknown) => {
      // A Company that is down for a moment is still the one that it was.
      const isDown = error instanceof AgentError && (error.code === 'unreachable' || error.code === 'rate_limited')
      if (isDown && before && asked < before.freshUntil + staleFor && !before.mustAsk) return null
      throw error
    })
    if (response === null) return before?.value
    if (response.status === 304 && before) {
      kept.set(url, { ...before, freshUntil: asked + freshFor(response.headers, asked) })
      await response.body?.cancel()
      return before.value
    }
    if (response.status !== 200) {
      await response.body?.cancel()
      kept.delete(url)
      const missing = response.status === 404 || response.status === 410
      throw new AgentError(
        missing ? 'not_a_company' : response.status >= 500 || response.status === 429 ? 'unreachable' : 'bad_document',
        missing ? `There is no ${rules.what}.` : `The ${rules.what} can't be read: HTTP ${response.status}.`,
        { status: response.status },
      )
    }
    const value = parse(await readText(response, rules.maxBytes), rules)
    kept.delete(url)
    if (mayKeep(response.headers)) {
      kept.set(url, {
        value,
        etag: response.headers.get('etag'),
        freshUntil: asked + freshFor(response.headers, asked),
        mustAsk: mustAsk(response.headers),
      })
      const oldest = kept.keys().next()
      if (kept.size > maxKept && !oldest.done) kept.delete(oldest.value)
    }
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
