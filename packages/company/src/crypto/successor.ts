import { createHmac, createSecretKey } from 'node:crypto'
import type { Keyring } from './keyring.ts'

/**
 * Account Tokens that follow one from the other (4.8): whoever has a token and a key of ours can make its successor again,
 * so an answer that was lost can be given once more, and no token has to be kept in the clear for it.
 */
export interface Successors {
  /** The successor that is made now. */
  readonly next: (token: string, grantId: string) => string
  /** Those that any of our keys would have made, newest first: the secret may have been changed since. */
  readonly all: (token: string, grantId: string) => readonly string[]
}

/** Derives successors by HMAC-SHA-256 under keys for nothing else. */
export function createSuccessors(keyring: Keyring): Successors {
  const keys = keyring.all.map(({ bytes }) => createSecretKey(bytes))
  const all = (token: string, grantId: string) =>
    keys.map((key) => `pat_${createHmac('sha256', key).update(`${grantId} ${token}`, 'utf8').digest('base64url')}`)
  return { all, next: (token, grantId) => all(token, grantId)[0] as string }
}
