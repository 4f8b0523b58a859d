import { parseStrictJson } from '@poppyseed/protocol'
import { FetchRefused } from './fetch-refused.ts'
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'

/** Fetches JSON documents from strangers: the Personal Agent's metadata and key set (4.1). */

/** A document and the headers that say how long it may be kept. */
export interface FetchedDocument {
  readonly document: unknown
  readonly headers: Headers
}

/**
 * Fetches one JSON document, by exactly this URL.
 * @throws FetchRefused whatever went wrong
 */
export type FetchDocument = (url: string) => Promise<FetchedDocument>

/** What may be set about fetching. The defaults are right for production. */
export interface DocumentFetcherOptions extends GuardedFetchOptions {
  /** Bytes of the body; 65,536 when left out. */
  readonly maxBytes?: number
}

/** A fetcher, and how to end it. */
export type DocumentFetcher = FetchDocument & {
  /** Breaks off what runs; later calls are refused. */
  readonly close: () => void
}

/** Makes a guarded fetcher of JSON documents. */
export function createDocumentFetcher(options: DocumentFetcherOptions = {}): DocumentFetcher {
  const { maxBytes = 65_536 } = options
  const guardedFetch = createGuardedFetch(options)
  const fetchDocument: FetchDocument = async (url) => {
    const { body, headers } = await guardedFetch(url, {
      accept: 'application/json',
      maxBytes,
      checkHeaders: requireJson,
    })
    return { document: parse(body), headers }
  }
  return Object.assign(fetchDocument, { close: guardedFetch.close })
}

function requireJson(headers: Headers): void {
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')) {
    throw new FetchRefused('not_json')
  }
}

/** Far more than an agent's metadata or key set has, and few enough for a schema to judge at once. */
const maxValues = 2000

function parse(body: Uint8Array): unknown {
  try {
    return parseStrictJson(new TextDecoder('utf-8', { fatal: true }).decode(body), 32, maxValues)
  } catch {
    throw new FetchRefused('not_json')
  }
}
