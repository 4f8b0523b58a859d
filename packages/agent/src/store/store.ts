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
}

/** A key of several parts, none of which can be taken for two. */
export function storeKey(...parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join('/')
}
