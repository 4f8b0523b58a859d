import { type ClientMetadata, PoppyError } from '@poppyseed/protocol'
import type { AddressMarks } from '../crypto/address-mark.ts'
import { sha256 } from '../crypto/hash.ts'
import type { FetchedDocument } from '../net/fetch-document.ts'
import type { GuardedFetch } from '../net/guarded-fetch.ts'
import type { AgentDirectory } from './directory.ts'
import { type AgentLog, type CacheLimits, createDocumentCache, faultOf } from './document-cache.ts'
import { createFetchGate } from './fetch-gate.ts'
import { type Picture, readPicture } from './picture.ts'
import { within } from './within.ts'

/**
 * 4.5: an agent's logo, fetched by us and served from our own origin, so that the person's browser meets nobody but us.
 * The address of one is made when a consent page shows its agent, and nobody else can make one: what is fetched is what
 * was shown.
 */

/** Fetches a logo: its bytes, of which at most `maxBytes` are taken. */
export type FetchLogo = (
  url: string,
  context: { readonly signal: AbortSignal; readonly maxBytes: number },
) => Promise<Uint8Array>

/** Logos of agents. */
export interface Logos {
  /** The path at which the browser finds an agent's logo, for about a day; null when the agent has none. */
  readonly pathOf: (agent: ClientMetadata) => string | null
  /** The picture behind the last part of such a path; null when there is none to be had. */
  readonly find: (part: string) => Promise<Picture | null>
}

/** Bytes of a logo: enough for 512 by 512 pixels, and at most eight megabytes for all that are kept. */
const maxBytes = 131_072
const hour = 3_600_000

const limits: CacheLimits = {
  minFresh: 300_000,
  maxFresh: 24 * hour,
  defaultFresh: hour,
  staleFor: 24 * hour,
  failureFor: 60_000,
  coolDown: 60_000,
  maxEntries: 64,
}

/** Milliseconds for a function of the company's; the guarded fetcher has a clock of its own. */
const ownTimeout = 5000

/** How long an address is good: one period, and what is left of the next. */
export const logoPeriod: number = 24 * hour

/** Makes them. `path`: our own path, before the agent's part. */
export function createLogos(options: {
  readonly fetchPicture: (url: string) => Promise<FetchedDocument>
  readonly path: string
  readonly marks: AddressMarks
  readonly directory: Pick<AgentDirectory, 'find'>
  readonly now: () => number
  readonly log: AgentLog
}): Logos {
  const { marks, directory, log } = options
  const pictures = createDocumentCache<Picture>({
    fetchDocument: options.fetchPicture,
    read: (bytes) => readPicture(bytes as Uint8Array),
    now: options.now,
    limits,
    // Places of their own: slow pictures must not keep anybody from signing in.
    gate: createFetchGate(16, 4),
    log,
  })
  const encode = (text: string) => Buffer.from(text).toString('base64url')

  return {
    pathOf({ clientId, logoUri }) {
      if (logoUri === undefined) return null
      // Another logo has another address, so that a browser that kept the old one asks for the new one.
      const about = `${encode(clientId)}.${sha256(logoUri).slice(0, 8)}`
      return `${options.path}/${about}.${marks.make(about)}`
    },
    async find(part) {
      const [, about, id, mark] = /^(([\w-]{1,3000})\.[\w-]{8})\.([\w-]{43})$/.exec(part) ?? []
      if (about === undefined || id === undefined || mark === undefined || !marks.accepts(about, mark)) return null
      try {
        const { metadata } = await directory.find(Buffer.from(id, 'base64url').toString())
        return metadata.logoUri === undefined ? null : (await pictures.get(metadata.logoUri)).value
      } catch (error) {
        // The page is whole without it; why it isn't there, the cache has told the log.
        if (!(error instanceof PoppyError)) faultOf(error)
        return null
      }
    },
  }
}

/** The guarded fetcher as it fetches logos. */
export function fetchGuarded(guardedFetch: GuardedFetch): (url: string) => Promise<FetchedDocument> {
  return async (url) => {
    const accept = 'image/png, image/webp, image/jpeg, image/gif'
    const { body, headers } = await guardedFetch(url, { accept, maxBytes })
    return { document: body, headers }
  }
}

/** The company's own function as it fetches logos: it has five seconds, and what is too large isn't taken. */
export function fetchByCompany(fetchLogo: FetchLogo): (url: string) => Promise<FetchedDocument> {
  return async (url) => {
    const bytes: unknown = await within(ownTimeout, (signal) => fetchLogo(url, { signal, maxBytes }))
    if (!(bytes instanceof Uint8Array) || bytes.byteLength > maxBytes) throw new TypeError('not the bytes of a logo')
    return { document: bytes, headers: new Headers() }
  }
}
