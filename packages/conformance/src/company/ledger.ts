import { createHash, randomBytes } from 'node:crypto'
import type { Told } from './conduct.ts'
import type { Exchange } from './exchange.ts'

/** What a Company remembers, all of it in memory. */

export interface SessionRecord {
  readonly clientId: string
  readonly userId: string
  account: string | null
  grant: string | null
  ended: boolean
}

export interface GrantRecord {
  readonly clientId: string
  readonly userId: string
  readonly account: string
  readonly scopes: readonly string[]
  state: 'live' | 'replaced' | 'revoked'
  /** The Account Token that took its place, and the answer that told it. */
  successor: Told<string> | null
  /** The answer that said it is over. */
  refused: Exchange | null
  /** Requests with it that are under way. */
  running: number
}

export interface TokenRecord {
  readonly sessionId: string
  readonly resource: string | null
  /** The key that it is bound to; null for Bearer. */
  readonly thumbprint: string | null
  readonly scopes: readonly string[]
  readonly signedIn: boolean
  readonly grant: string | null
  readonly expiresAt: number
  readonly issuedBy: Exchange
  /** Whether its answer said DPoP: anything else must not be used. */
  readonly usable: boolean
}

export interface CodeRecord {
  readonly clientId: string
  readonly redirectUri: string
  readonly challenge: string
  readonly asked: readonly string[]
  readonly granted: readonly string[]
  readonly account: string
  /** What was wrong with the callback that brought it; then it must not be sent. */
  readonly mustNotCome: 'iss' | 'state' | null
  usedBy: string | null
  used: boolean
}

/** A Device Sign-In (4.6). */
export interface DeviceRecord {
  readonly clientId: string
  readonly granted: readonly string[]
  readonly account: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** Seconds between polls, by what was told last. */
  interval: number
  readonly polls: Exchange[]
  /** The newest answer that said slow_down, and the one that said that it is over. */
  slowedBy: Exchange | null
  endedBy: Exchange | null
  used: boolean
}

/** A Mediated Sign-In that waits for a one-time code (4.7). */
export interface MediatedRecord {
  readonly sessionId: string
  readonly granted: readonly string[]
}

/** The memory of a Company. */
export interface Ledger {
  readonly sessions: Map<string, SessionRecord>
  /** By Account Token. */
  readonly grants: Map<string, GrantRecord>
  /** By Session Token. */
  readonly tokens: Map<string, TokenRecord>
  readonly codes: Map<string, CodeRecord>
  /** By device code. */
  readonly devices: Map<string, DeviceRecord>
  /** By sign-in ID. */
  readonly mediated: Map<string, MediatedRecord>
  /** Credentials that came to the endpoint for them, and may come nowhere else. */
  readonly credentials: Set<string>
  /** Ids of assertions and proofs that were accepted, each with its kind and owner. */
  readonly seen: Set<string>
  /** User by DPoP key, and the published keys of agents. */
  readonly userOfKey: Map<string, string>
  readonly publishedKeys: Set<string>
  readonly states: Set<string>
  readonly challenges: Set<string>
  /** Sessions and what was told of them. */
  readonly endings: Map<
    string,
    { readonly by: Exchange; readonly error: 'invalid_session' | 'account_mismatch'; readonly account: string | null }
  >
}

/** An empty memory. */
export function createLedger(): Ledger {
  return {
    sessions: new Map(),
    grants: new Map(),
    tokens: new Map(),
    codes: new Map(),
    devices: new Map(),
    mediated: new Map(),
    credentials: new Set(),
    seen: new Set(),
    userOfKey: new Map(),
    publishedKeys: new Set(),
    states: new Set(),
    challenges: new Set(),
    endings: new Map(),
  }
}

/** Revokes an Account Token with all that took its place, and signs its Sessions out (4.9). */
export function revoke(ledger: Ledger, accountToken: string): void {
  for (let token: string | undefined = accountToken; token !== undefined; ) {
    const grant = ledger.grants.get(token)
    if (!grant) return
    grant.state = 'revoked'
    for (const session of ledger.sessions.values()) if (session.grant === token) session.grant = null
    token = grant.successor?.what
  }
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')
export const random = (prefix: string): string => `${prefix}${randomBytes(24).toString('base64url')}`
