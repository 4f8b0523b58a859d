import { randomBytes, type ScryptOptions, scrypt, scryptSync, timingSafeEqual } from 'node:crypto'

const COST = { N: 2 ** 15, r: 8, p: 3 } as const
const LENGTH = 32

// 128 * N * r bytes are what scrypt needs; Node's own limit is just below that.
const options = ({ N, r, p }: { readonly N: number; readonly r: number; readonly p: number }): ScryptOptions => ({
  N,
  r,
  p,
  maxmem: 256 * N * r,
})

/** Makes the text that is stored for a password: cost, salt and hash, so that the cost can be raised later. */
export function hashPassword(password: string): string {
  const salt = randomBytes(16)
  const hash = scryptSync(password.normalize('NFC'), salt, LENGTH, options(COST))
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Checks a password against a stored text, in constant time. Runs off the main thread, about a fifth of a second. */
export async function checkPassword(password: string, stored: string): Promise<boolean> {
  const [kind, N, r, p, salt, hash] = stored.split('$')
  if (kind !== 'scrypt' || !N || !r || !p || !salt || !hash) return false
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const expected = Buffer.from(hash, 'base64url')
  const actual = await new Promise<Buffer>((resolve, reject) =>
    scrypt(password.normalize('NFC'), Buffer.from(salt, 'base64url'), LENGTH, options(cost), (error, key) =>
      error ? reject(error) : resolve(key),
    ),
  )
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

/**
 * A stored text that no password fits. An unknown address is checked against it, so that it takes as long as a known
 * one and nobody learns who has an account.
 */
export const nobodysPassword = [
  'scrypt',
  COST.N,
  COST.r,
  COST.p,
  randomBytes(16).toString('base64url'),
  randomBytes(LENGTH).toString('base64url'),
].join('$')
