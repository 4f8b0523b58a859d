import { createHmac } from 'node:crypto'
import { isSameSecret } from './hash.ts'
import type { Keyring } from './keyring.ts'

/**
 * Marks on addresses that nobody but us can have made: any instance can check them without a store. The same text has the
 * same mark for one period, so that what is at the address can be kept for a while.
 */
export interface AddressMarks {
  readonly make: (text: string) => string
  /** Whether a mark was made for this text in the current period, or in the one before. */
  readonly accepts: (text: string, mark: string) => boolean
}

/**
 * @param period milliseconds
 * @param now milliseconds since 1970
 */
export function createAddressMarks(keyring: Keyring, period: number, now: () => number): AddressMarks {
  const current = () => Math.floor(now() / period)
  const mark = (key: Uint8Array, at: number, text: string) =>
    createHmac('sha256', key).update(`${at} ${text}`).digest('base64url')
  return {
    make: (text) => mark(keyring.newest.bytes, current(), text),
    accepts(text, given) {
      if (given.length !== 43) return false
      const at = current()
      return keyring.all.some((key) => [at, at - 1].some((one) => isSameSecret(given, mark(key.bytes, one, text))))
    },
  }
}
