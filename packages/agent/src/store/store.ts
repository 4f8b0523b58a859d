/** Where a Personal Agent keeps its state. */

/** What a record may hold: JSON. */
export type StoredValue =
  | null
  | boolean
  | number
  | string
  | readonly StoredValue[]
  | { readonly [name: string]: StoredValue }

/**
 * Keeps records by key. Records hold private keys and tokens (4.8: Account Tokens are secrets), so whatever is behind
 * this must be readable by the Personal Agent alone. Hand in your own to keep them in a database.
 */
export interface AgentStore {
  /** The record, or undefined. */
  readonly get: (key: string) => Promise<StoredValue | undefined>
  /**
   * Changes one record, atomically even when several processes share the store: `change` gets the record as it is and
   * gives the new one, or undefined to remove it. It may be called again, so it does nothing else.
   * @returns what `change` gave
   */
  readonly update: (
    key: string,
    change: (before: StoredValue | undefined) => StoredValue | undefined,
  ) => Promise<StoredValue | undefined>
  /** All keys that begin with `prefix`. */
  readonly keys: (prefix: string) => Promise<readonly string[]>
  /**
   * Runs work while nobody else who shares this store, in this process or another, runs work of the same name; gives what
   * the work gives, and lets go when it fails. Tokens are asked for under it, one request at a time (4.8: an Account Token
   * that rotates must not be used twice at once).
   *
   * Optional. Without it a lease is kept in a record of the store, by `update`: right everywhere, at the price of a poll
   * while somebody waits. Where your database has locks, hand in one that ends with its holder, such as an advisory lock
   * of PostgreSQL: whoever dies while holding it must not keep the others waiting for more than about 30 seconds. Work
   * lasts as long as a request to a Company, sometimes a minute, so it is no place for a transaction.
   */
  readonly lock?: <T>(name: string, work: () => Promise<T>) => Promise<T>
}

/** A key of several parts, none of which can be taken for two. */
export function storeKey(...parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join('/')
}
