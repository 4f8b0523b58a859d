import { hkdfSync } from 'node:crypto'
import { sha256 } from './hash.ts'

/** Keys for one purpose, derived from the configured secrets. The first is used to make, all are used to check. */
export interface Keyring {
  readonly newest: DerivedKey
  readonly all: readonly DerivedKey[]
  readonly find: (id: string) => DerivedKey | undefined
}

/** A key for one purpose, made from one of the secrets. */
export interface DerivedKey {
  /** Names the key without telling anything of it. */
  readonly id: string
  readonly bytes: Uint8Array
}

/** What keys are for: each purpose has keys of its own. */
export type KeyPurpose = 'session-token' | 'nonce' | 'form' | 'logo' | 'one-time-code' | 'account-token' | 'asked'

/**
 * Derives the keys of one purpose (HKDF-SHA-256), so that what was sealed for one purpose never opens for another.
 * @param secrets newest first; an older one stays until what it sealed has run out
 */
export function deriveKeyring(secrets: readonly string[], purpose: KeyPurpose): Keyring {
  const all = secrets.map((secret) => {
    const bytes = new Uint8Array(hkdfSync('sha256', secret, 'poppyseed', purpose, 32))
    return { id: sha256(`${purpose} ${Buffer.from(bytes).toString('base64url')}`).slice(0, 11), bytes }
  })
  const newest = all[0]
  if (!newest) throw new TypeError('A keyring needs at least one secret.')
  return { newest, all, find: (id) => all.find((key) => key.id === id) }
}
