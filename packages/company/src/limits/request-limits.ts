import { PoppyError } from '@poppyseed/protocol'
import type { Logger } from '../store/database.ts'
import { createAddressReader } from './address.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import { type CheckedLimits, type LimitName, limitNames } from './settings.ts'

/**
 * Limits as the chapters ask for them (4.1, 4.3). What counts against a client, a User or a Session is counted once the
 * caller has shown to be it; everybody else counts by address alone. Each throws `rate_limited` when there were too many.
 */
export interface RequestLimits {
  /** A request without a token where one is needed. */
  readonly countAnonymous: (request: Request) => void
  /**
   * Refuses where too many were wrong already, before anything dear is done. Counts nothing.
   * @param sessionId the Session of a token that could be opened: then only what failed with its tokens, from this
   * address, counts
   */
  readonly checkFailures: (request: Request, sessionId?: string) => void
  /** A token, proof or assertion that was wrong. */
  readonly countFailure: (request: Request, sessionId?: string) => void
  /** Refuses where Session, User or client have no request left. Counts nothing. */
  readonly checkCaller: (caller: Caller) => void
  readonly countCaller: (caller: Caller) => Undo
  /** A request at the token or revocation endpoint. */
  readonly countTokenRequest: (clientId: string) => Undo
  /** A Session that begins (4.1). */
  readonly countSession: (clientId: string, userId: string) => Undo
  /** From where a request comes, for what is counted in the store; null where nobody tells. */
  readonly addressOf: (request: Request) => string | null
  /** A consent page, shown or answered. */
  readonly countConsent: (request: Request) => void
  /** A consent page answered by this account. */
  readonly countDecision: (account: string) => void
}

/** Takes back what was counted: it turned out to be somebody else's, or a repetition. */
export type Undo = () => void

/** Whose request it is. */
export interface Caller {
  readonly clientId: string
  readonly userId: string
  readonly sessionId: string
}

type Entry = readonly [name: LimitName, key: string]

/** Milliseconds between two warnings about the same limit. */
const warnInterval = 60_000

/** Makes the limits of one Company. */
export function createRequestLimits(parts: {
  readonly settings: CheckedLimits
  readonly address: ((request: Request) => string) | undefined
  readonly isLocal: boolean
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  readonly log: Logger
}): RequestLimits {
  const { settings, now, random, log } = parts
  const addressOf = createAddressReader({ hook: parts.address, isLocal: parts.isLocal, now, log })
  const warned = new Map<string, number>()
  const limiters = Object.fromEntries(
    limitNames.map((name) => {
      const limit = settings[name]
      const onCrowded = () => warn(`${name} `, { limit: name }, 'more callers than this limit keeps apart')
      return [name, limit && createLimiter(limit, { now, random, onCrowded })]
    }),
  ) as Readonly<Record<LimitName, Limiter | null>>

  function warn(kind: string, fields: object, message: string): void {
    const last = warned.get(kind)
    const time = now()
    if (last !== undefined && time >= last && time < last + warnInterval) return
    warned.set(kind, time)
    log.warn(fields, message)
  }

  function refuse(name: LimitName, wait: number, clientId?: string): never {
    warn(name, { limit: name, ...(clientId === undefined ? {} : { clientId }) }, 'a limit was met')
    throw new PoppyError('rate_limited', {
      description: 'Too many requests. Wait before you send this one again.',
      retryAfter: Math.max(1, Math.ceil(wait / 1000)),
      reason: `limit ${name}`,
    })
  }

  function check(entries: readonly Entry[], clientId?: string): void {
    for (const [name, key] of entries) {
      const wait = limiters[name]?.peek(key) ?? 0
      if (wait > 0) refuse(name, wait, clientId)
    }
  }

  /** Counts at all of them or at none. */
  function count(entries: readonly Entry[], clientId?: string): Undo {
    for (const [index, [name, key]] of entries.entries()) {
      const wait = limiters[name]?.take(key) ?? 0
      if (wait === 0) continue
      giveBack(entries.slice(0, index))
      refuse(name, wait, clientId)
    }
    return () => giveBack(entries)
  }

  function giveBack(entries: readonly Entry[]): void {
    for (const [name, key] of entries) limiters[name]?.giveBack(key)
  }

  function byAddress(name: LimitName, request: Request, prefix = ''): readonly Entry[] {
    if (settings[name] === null) return []
    const address = addressOf(request)
    return address === null ? [] : [[name, prefix + address]]
  }

  // Of two texts that others choose, the one without spaces comes first: no other pair makes the same key.
  const userOf = (clientId: string, userId: string) => `${clientId} ${userId}`

  const failuresOf = (request: Request, sessionId: string | undefined) =>
    byAddress('failuresPerAddress', request, sessionId === undefined ? '' : `${sessionId} `)

  // An opened token is the same object each time, and joining its names anew for each request costs more than counting.
  const known = new WeakMap<Caller, readonly Entry[]>()
  function callerOf(caller: Caller): readonly Entry[] {
    const entries = known.get(caller)
    if (entries) return entries
    const { clientId, userId, sessionId } = caller
    const made: readonly Entry[] = [
      ['requestsPerSession', sessionId],
      ['requestsPerUser', userOf(clientId, userId)],
      ['requestsPerClient', clientId],
    ]
    known.set(caller, made)
    return made
  }

  // Hardly any Session has failures: then its requests need not even be asked where they come from.
  const hasFailed = (sessionId: string) => limiters.failuresPerAddress?.mayHave(sessionId) ?? false

  return {
    countAnonymous: (request) => void count(byAddress('anonymousPerAddress', request)),
    checkFailures(request, sessionId) {
      if (sessionId === undefined || hasFailed(sessionId)) check(failuresOf(request, sessionId))
    },
    countFailure(request, sessionId) {
      // No limit of its own: it says that there is something to look for.
      if (sessionId !== undefined) limiters.failuresPerAddress?.take(sessionId)
      count(failuresOf(request, sessionId))
    },
    checkCaller: (caller) => check(callerOf(caller), caller.clientId),
    countCaller: (caller) => count(callerOf(caller), caller.clientId),
    countTokenRequest: (clientId) => count([['tokenRequestsPerClient', clientId]], clientId),
    countSession: (clientId, userId) =>
      count(
        [
          ['sessionsPerUser', userOf(clientId, userId)],
          ['sessionsPerClient', clientId],
        ],
        clientId,
      ),
    addressOf,
    countConsent: (request) => void count(byAddress('consentPerAddress', request)),
    countDecision: (account) => void count([['consentPerAccount', account]]),
  }
}
