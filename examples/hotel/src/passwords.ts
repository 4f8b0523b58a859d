import { randomBytes, type ScryptOptions, scrypt, scryptSync, timingSafeEqual } from 'node:crypto'

/** scrypt's three numbers: memory and time (`N`, `r`), repeats (`p`). */
export type PasswordCost = { readonly N: number; readonly r: number; readonly p: number }

/** What a password costs to check: 32 MB, and about a fifth of a second of one core. */
export const PASSWORD_COST: PasswordCost = { N: 2 ** 15, r: 8, p: 3 }

const LENGTH = 32

// 128 * N * r bytes are what scrypt needs; Node's own limit is just below that.
const options = ({ N, r, p }: PasswordCost): ScryptOptions => ({ N, r, p, maxmem: 256 * N * r })

const textOf = ({ N, r, p }: PasswordCost, salt: Buffer, hash: Buffer): string =>
  ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')

/** Makes the text that is stored for a password: cost, salt and hash, so that the cost can be raised later. */
export function hashPassword(password: string, cost: PasswordCost): string {
  const salt = randomBytes(16)
  return textOf(cost, salt, scryptSync(password.normalize('NFC'), salt, LENGTH, options(cost)))
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
export const nobodysPassword = textOf(PASSWORD_COST, randomBytes(16), randomBytes(LENGTH))
