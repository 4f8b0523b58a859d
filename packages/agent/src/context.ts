import type { Readers } from './conversations/readers.ts'
import type { Identity } from './identity/identity.ts'
import type { Clocks } from './net/clocks.ts'
import type { DocumentReader } from './net/document.ts'
import type { Fetch } from './net/exchange.ts'
import type { Patience } from './net/patience.ts'
import type { Queues } from './store/queues.ts'
import type { AgentStore } from './store/store.ts'

/** What every part of a Personal Agent works with. Made once, in `personal-agent.ts`. */
export interface AgentContext {
  readonly identity: Identity
  readonly store: AgentStore
  readonly fetch: Fetch
  /** Unix time in milliseconds. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  /** How long a Company may take for one answer, in seconds, and how long a stream may be silent. */
  readonly seconds: {
    readonly document: number
    readonly token: number
    readonly call: number
    readonly stream: number
  }
  /** Development only: `http:` on loopback hosts. */
  readonly allowHttp: boolean
  readonly readDocument: DocumentReader
  readonly patience: Patience
  /** Waits so many milliseconds, or until the signal says to stop: then it throws the signal's reason. */
  readonly wait: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** The time as each Company has it, for what is signed for it. */
  readonly clocks: Clocks
  /** The newest `DPoP-Nonce` of each origin (4.3). */
  readonly nonces: Nonces
  /** Tells those who wait in this process that a sign-in has ended. */
  readonly endings: Endings
  /** Who reads which conversation in this process. */
  readonly readers: Readers
  /** Runs one thing at a time per key, among all who share the store. */
  readonly alone: Queues
}

/** Nonces by origin. */
export interface Nonces {
  readonly get: (url: string) => string | undefined
  /** Remembers the nonce of an answer, whatever its status (RFC 9449, 8.2). */
  readonly remember: (url: string, response: Response) => void
}

const maxOrigins = 1000

/** Remembers the newest nonce of each origin (4.3). */
export function createNonces(): Nonces {
  const byOrigin = new Map<string, string>()
  return {
    get: (url) => byOrigin.get(new URL(url).origin),
    remember: (url, response) => {
      const nonce = response.headers.get('dpop-nonce')
      // RFC 9449, 8.1: the characters that a nonce may have
      if (nonce === null || !/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/.test(nonce)) return
      const { origin } = new URL(url)
      byOrigin.delete(origin)
      byOrigin.set(origin, nonce)
      const oldest = byOrigin.keys().next()
      if (byOrigin.size > maxOrigins && !oldest.done) byOrigin.delete(oldest.value)
    },
  }
}

/** Sign-ins that end in this process, by `state`. */
export interface Endings {
  readonly tell: (state: string) => void
  /** Waits until told, or for so many milliseconds: another process may have ended it. */
  readonly next: (state: string, milliseconds: number) => Promise<void>
}

/** Tells those who wait in this process that a sign-in has ended. */
export function createEndings(): Endings {
  const waiting = new Map<string, Set<() => void>>()
  return {
    tell: (state) => {
      for (const wake of waiting.get(state) ?? []) wake()
    },
    next: (state, milliseconds) =>
      new Promise((resolve) => {
        const wakers = waiting.get(state) ?? new Set()
        const wake = () => {
          clearTimeout(timer)
          wakers.delete(wake)
          if (wakers.size === 0) waiting.delete(state)
          resolve()
        }
        const timer = setTimeout(wake, milliseconds)
        waiting.set(state, wakers.add(wake))
      }),
  }
}
