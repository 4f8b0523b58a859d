import { DocumentError, PoppyError } from '@poppyseed/protocol'
import type { FetchDocument } from '../net/fetch-document.ts'
import { FetchRefused } from '../net/fetch-refused.ts'
import type { FetchGate } from './fetch-gate.ts'
import { type FreshnessBounds, readFreshness } from './freshness.ts'
import { createRecent } from './recent.ts'

/** Strangers' documents, read and kept: at most one fetch of a URL at a time, and none that isn't due. */

/** Bounds of the cache. Times in milliseconds. */
export interface CacheLimits extends FreshnessBounds {
  /** How long an older copy serves beyond its time while a new one can't be had. */
  readonly staleFor: number
  /** How long a failure is remembered. */
  readonly failureFor: number
  /** How often a fetch may be forced before a copy's time. */
  readonly coolDown: number
  /** Documents kept, and apart from them failures. */
  readonly maxEntries: number
}

/** The part of a logger that this needs. */
export interface AgentLog {
  readonly warn: (details: Readonly<Record<string, unknown>>, message: string) => void
}

/** A document as the cache has it. */
export interface Found<T> {
  readonly value: T
  /** Whether this very call brought it; then asking again can bring nothing newer. */
  readonly isNew: boolean
}

/** A cache of one kind of document. */
export interface DocumentCache<T> {
  /** @throws FetchRefused, DocumentError, or PoppyError `temporarily_unavailable` when too many fetches run */
  readonly get: (url: string) => Promise<Found<T>>
  /** Fetches before the copy's time, once per cool-down. Null when there was nothing newer to be had. */
  readonly renew: (url: string) => Promise<T | null>
}

interface Copy<T> {
  readonly value: T
  readonly freshUntil: number
  readonly usableUntil: number
}

interface CacheParts<T> {
  readonly fetchDocument: FetchDocument
  readonly read: (document: unknown, url: string) => T
  readonly now: () => number
  readonly limits: CacheLimits
  readonly gate: FetchGate
  readonly log: AgentLog
}

/**
 * Keeps documents for as long as their headers say, within bounds, and fetches each once for all who ask at one
 * moment.
 */
export function createDocumentCache<T>(parts: CacheParts<T>): DocumentCache<T> {
  const { now, limits, gate, log } = parts
  const copies = createRecent<Copy<T>>(limits.maxEntries)
  // Apart, so that made-up URLs push out no good document.
  const failures = createRecent<{ readonly error: unknown; readonly until: number }>(limits.maxEntries)
  const forced = createRecent<number>(limits.maxEntries)
  const running = new Map<string, Promise<T>>()

  function fetchOnce(url: string): Promise<T> {
    const same = running.get(url)
    if (same) return same
    const fetching = fetchAndKeep(url).finally(() => running.delete(url))
    running.set(url, fetching)
    return fetching
  }

  async function fetchAndKeep(url: string): Promise<T> {
    const leave = gate.enter(new URL(url).host)
    try {
      const { document, headers } = await parts.fetchDocument(url).catch((error: unknown) => {
        // A deployment's own fetcher may throw what it likes: not fetched is not fetched.
        throw error instanceof FetchRefused ? error : new FetchRefused('unreachable')
      })
      const value = parts.read(document, url)
      const freshUntil = now() + readFreshness(headers, limits)
      copies.set(url, { value, freshUntil, usableUntil: freshUntil + limits.staleFor })
      failures.delete(url)
      return value
    } catch (error) {
      const reason = faultOf(error)
      failures.set(url, { error, until: now() + limits.failureFor })
      const copy = copies.get(url)
      log.warn({ url, reason, hasOlderCopy: copy !== undefined }, 'a document of a Personal Agent was not had')
      // A document that is there but says something wrong is the agent's word: the copy gets no time beyond its own.
      if (copy && error instanceof DocumentError) copies.set(url, { ...copy, usableUntil: copy.freshUntil })
      throw error
    } finally {
      leave()
    }
  }

  return {
    async get(url) {
      const copy = copies.get(url)
      if (copy && now() < copy.freshUntil) return { value: copy.value, isNew: false }
      const failure = failures.get(url)
      try {
        if (failure && now() < failure.until) throw failure.error
        return { value: await fetchOnce(url), isNew: true }
      } catch (error) {
        const old = copies.get(url)
        if (!old || now() >= old.usableUntil) throw error
        return { value: old.value, isNew: false }
      }
    },
    async renew(url) {
      const last = forced.get(url)
      const isRunning = running.has(url)
      if (!isRunning && last !== undefined && now() < last + limits.coolDown) return null
      const failure = failures.get(url)
      if (!isRunning && failure && now() < failure.until) return null
      if (!isRunning) forced.set(url, now())
      try {
        return await fetchOnce(url)
      } catch (error) {
        // The keys that are there stay. A fault of ours is none of the document's, and goes on up.
        faultOf(error)
        return null
      }
    },
  }
}

/** What a failure was, for the log. Anything unforeseen is a fault of ours and goes on up. */
export function faultOf(error: unknown): string {
  if (error instanceof FetchRefused) return error.reason
  if (error instanceof DocumentError) return error.message
  if (error instanceof PoppyError) return error.reason ?? error.code
  throw error
}
