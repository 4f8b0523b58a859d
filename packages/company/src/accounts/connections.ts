import type { Scope } from '../store/database.ts'
import { grantsOf, revokeGrantsOf } from './store.ts'

/** Section 4.9: what a person sees of the agents that they let in, and how they end it, for a site that draws its own page. */

/** A Personal Agent that a person let in. */
export interface ConnectedAgent {
  readonly clientId: string
  /** The host of its `client_id`: the part of its identity that was checked. */
  readonly host: string
  /** The rights it has, as scopes and in the company's words. */
  readonly rights: readonly { readonly scope: string; readonly text: string }[]
  /** Milliseconds since 1970. */
  readonly connectedAt: number
  readonly lastUsedAt: number
  readonly expiresAt: number | null
}

/** What a company’s account page needs (4.9): who is connected, and how it ends. */
export interface Accounts {
  /** The agents that have access to an account, newest first; one entry for each sign-in. */
  readonly connectedAgents: (account: string) => Promise<readonly ConnectedAgent[]>
  /**
   * Ends an agent's access to an account: its Account Tokens are revoked and its Sessions signed out, at once (4.9).
   * @returns how many sign-ins were ended
   */
  readonly disconnect: (account: string, clientId: string) => Promise<number>
}

/** Makes {@link Accounts}; `texts` are the company’s own words for its scopes. */
export function createAccounts(options: {
  readonly scope: () => Promise<Scope>
  readonly now: () => number
  readonly texts: Readonly<Record<string, string>>
}): Accounts {
  return {
    async connectedAgents(account) {
      const grants = await grantsOf(await options.scope(), { account, now: options.now() })
      return grants.map((grant) => ({
        clientId: grant.clientId,
        host: new URL(grant.clientId).host,
        rights: grant.scopes.map((scope) => ({ scope, text: options.texts[scope] ?? scope })),
        connectedAt: grant.createdAt,
        lastUsedAt: grant.lastUsedAt,
        expiresAt: grant.expiresAt,
      }))
    },
    async disconnect(account, clientId) {
      return revokeGrantsOf(await options.scope(), { account, clientId, now: options.now() })
    },
  }
}
