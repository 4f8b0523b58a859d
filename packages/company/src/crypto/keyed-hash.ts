import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Keyring } from './keyring.ts'

/** Hashes under a key of ours (HMAC-SHA-256): for what is too short for SHA-256 to hide, such as a one-time code. */
export interface KeyedHash {
  /** In base64url, with the name of its key in front. */
  readonly make: (text: string) => string
  /** Whether a hash was made of this text, with the newest key or an older one. Takes the same time either way. */
  readonly matches: (text: string, made: string) => boolean
}

/** Hashes with the newest key and compares with any, so a rotated secret spoils nothing that waits. */
export function createKeyedHash(keyring: Keyring): KeyedHash {
  const keys = new Map(keyring.all.map(({ id, bytes }) => [id, createSecretKey(bytes)]))
  const macOf = (id: string, text: string) => {
    const key = keys.get(id)
    return key === undefined ? null : createHmac('sha256', key).update(text, 'utf8').digest()
  }
  return {
    make: (text) => `${keyring.newest.id}.${macOf(keyring.newest.id, text)?.toString('base64url')}`,
    matches(text, made) {
      const [id = '', mac = ''] = made.split('.')
      const expected = macOf(id, text)
      const given = Buffer.from(mac, 'base64url')
      return expected !== null && given.length === expected.length && timingSafeEqual(expected, given)
    },
  }
}
