import { createHmac } from 'node:crypto'
import { isSameSecret } from './hash.ts'
import type { Keyring } from './keyring.ts'

/** DPoP nonces (4.3, RFC 9449 section 8) made from the secret and the time: any instance can check them without a store. */
export interface Nonces {
  /** The nonce to hand out now. */
  readonly current: () => string
  /** Whether a proof may carry this one: the current period's or the one before. */
  readonly accepts: (nonce: string | undefined) => boolean
}

/**
 * @param period seconds that a nonce is handed out; it is accepted for one period more, so none goes stale in flight
 * @param now milliseconds since 1970
 */
export function createNonces(keyring: Keyring, period: number, now: () => number): Nonces {
  const currentPeriod = () => Math.floor(now() / 1000 / period)
  const make = (key: Uint8Array, at: number) =>
    createHmac('sha256', key).update(String(at)).digest('base64url').slice(0, 32)
  return {
    current: () => make(keyring.newest.bytes, currentPeriod()),
    accepts(nonce) {
      if (nonce === undefined || nonce.length > 64) return false
      const at = currentPeriod()
      return keyring.all.some((key) => [at, at - 1].some((one) => isSameSecret(nonce, make(key.bytes, one))))
    },
  }
}
