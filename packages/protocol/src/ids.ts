import { encode } from 'jose/base64url'

/** Identifiers on the wire (7.2): 1 to 256 characters of the URL-safe base64 alphabet, with a short prefix. */

const pattern = /^[A-Za-z0-9_-]{1,256}$/

/** Whether a string is an id that may travel (7.2). */
export function isId(value: string): boolean {
  return pattern.test(value)
}

/** The kinds of id that this implementation makes. */
export type IdPrefix = 'ses' | 'usr' | 'grt' | 'cnv' | 'msg' | 'evt' | 'opn' | 'sgn' | 'err' | 'dlv'

/**
 * Makes an id such as `ses_Q7c1vK…`: the prefix and 128 random bits.
 * @param random gives that many random bytes
 */
export function makeId(prefix: IdPrefix, random: (length: number) => Uint8Array): string {
  return `${prefix}_${base64url(random(16))}`
}

/** Bytes as base64url without padding (RFC 4648, section 5). */
export function base64url(bytes: Uint8Array): string {
  return encode(bytes)
}
