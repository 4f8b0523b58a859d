import type { AgentRule, Finding } from '../rules.ts'
import type { Exchange } from './exchange.ts'

/** What was told to the client, and what it did after it had heard. */

/** An answer that said something which binds the client from then on. */
export interface Told<T> {
  readonly by: Exchange
  readonly what: T
}

/** Milliseconds after which whoever was told has heard it, whichever connection they come on. */
const surely = 5

/**
 * Whether the client had read an answer before it sent a request. Sure where both went over one connection, as HTTP has
 * one exchange after the other there. Over two connections they may have crossed on their ways, so only what came a
 * little later counts: a client under trial that uses one connection is judged most exactly.
 */
export function hadHeard(told: Exchange, request: Exchange): boolean {
  if (told.deliveredAt === null || told.deliveredAt > request.arrivedAt) return false
  return told.socket === request.socket || request.arrivedAt - told.deliveredAt > surely
}

/** Refusals that a client whose clock differs from the Company's can't foresee. */
const timely = new Set([
  'expired',
  'iat in the future',
  'iat outside the window',
  'lives too long',
  'nbf in the future',
])

/** Whether a refusal comes of a clock that a switch has set wrong: no fault of the client's. */
export function isOfOurClock(reason: string | undefined, { switches }: Exchange): boolean {
  return switches.clockOffset !== 0 && timely.has(reason ?? '')
}

/** Records rules that were broken. */
export interface Findings {
  readonly list: Finding[]
  readonly report: (requirement: AgentRule, seen: string, exchange: Exchange) => void
}

/** Makes an empty list. A rule that is broken in the same way at the same place stands in it once for each time. */
export function createFindings(): Findings {
  const list: Finding[] = []
  return {
    list,
    report: (requirement, seen, { method, path }) => void list.push({ requirement, seen, at: `${method} ${path}` }),
  }
}

/** Holds a client to what it was told about when it may come again (4.3) and about nonces. */
export interface Conduct {
  /** Looks at a request as it arrives. */
  readonly arrives: (exchange: Exchange) => void
  /** Looks at what was answered. `sender` is whom a nonce is for: the key of the proof. */
  readonly limited: (exchange: Exchange, retryAfter: string | null) => void
  readonly nonceTold: (exchange: Exchange, key: string, nonce: string, wasRefused: boolean) => void
  readonly nonceUsed: (exchange: Exchange, key: string, nonce: string | undefined) => void
  readonly accepted: (exchange: Exchange, key: string) => void
}

/** More refusals in a row than any honest client needs to learn a nonce. */
const maxRefusals = 3

/** Makes the memory of one Company about its clients. */
export function createConduct({ report }: Findings): Conduct {
  const limits = new Map<string, Told<number>>()
  const nonces = new Map<string, { readonly order: Map<string, number>; told: Told<string>[]; refusals: number }>()
  const at = ({ method, path }: Exchange) => `${method} ${path}`
  const memoryOf = (key: string) => {
    const memory = nonces.get(key) ?? { order: new Map<string, number>(), told: [], refusals: 0 }
    nonces.set(key, memory)
    return memory
  }

  return {
    arrives(exchange) {
      const limit = limits.get(at(exchange))
      if (limit && exchange.now < limit.what && hadHeard(limit.by, exchange)) {
        report(
          '4.3.retry-after-agent',
          `${Math.ceil((limit.what - exchange.now) / 1000)} s before Retry-After had passed`,
          exchange,
        )
      }
    },
    limited(exchange, retryAfter) {
      const until = readRetryAfter(retryAfter, exchange.now)
      if (until !== null) limits.set(at(exchange), { by: exchange, what: until })
    },
    nonceTold(exchange, key, nonce, wasRefused) {
      const memory = memoryOf(key)
      if (!memory.order.has(nonce)) memory.order.set(nonce, memory.order.size)
      memory.told.push({ by: exchange, what: nonce })
      if (!wasRefused) return
      memory.refusals += 1
      if (memory.refusals === maxRefusals + 1)
        report('K12', `sent again after ${maxRefusals} refusals for the nonce in a row`, exchange)
    },
    nonceUsed(exchange, key, nonce) {
      const memory = memoryOf(key)
      const used = nonce === undefined ? -1 : (memory.order.get(nonce) ?? -1)
      const heard = memory.told.filter(({ by }) => hadHeard(by, exchange))
      const newest = Math.max(-1, ...heard.map(({ what }) => memory.order.get(what) ?? -1))
      if (used < newest)
        report('4.3.nonce-agent', nonce === undefined ? 'no nonce after one was given' : 'an older nonce', exchange)
    },
    accepted(_exchange, key) {
      memoryOf(key).refusals = 0
    },
  }
}

/** Milliseconds since 1970 that a `Retry-After` names; null where it names none that can be read. */
function readRetryAfter(value: string | null, now: number): number | null {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return now + Number(text) * 1000
  const date = /^[A-Z][a-z]{2,8}, /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(date) ? date : null
}
