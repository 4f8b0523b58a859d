import { randomBytes } from 'node:crypto'

/** Random bytes of the system. */
export function systemRandom(length: number): Uint8Array {
  return randomBytes(length)
}

/** Bytes in base64url without padding. */
export function base64urlOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
