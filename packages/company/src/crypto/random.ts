import { randomBytes } from 'node:crypto'

/** Asking the system costs much the same for 16 bytes and for 4,096, so they are fetched together and used once each. */
const poolSize = 4096
let pool = Buffer.alloc(0)

/** Random bytes of the system. */
export function systemRandom(length: number): Uint8Array {
  if (length > poolSize / 8) return randomBytes(length)
  if (pool.length < length) pool = randomBytes(poolSize)
  const taken = new Uint8Array(pool.subarray(0, length))
  // What was given out is gone from the pool: it may become a secret.
  pool.fill(0, 0, length)
  pool = pool.subarray(length)
  return taken
}

/** Bytes in base64url without padding. */
export function base64urlOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
