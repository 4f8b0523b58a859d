import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { importPublicKey, type KeyImporter, type PublicKey, type UnverifiedJwt } from '@poppyseed/protocol'
import type { JWK } from 'jose'
import { BoundedCache } from './bounded-cache.ts'

/**
 * An importer that remembers: importing a key costs as much as verifying with it. Keyed by everything in the JWK that
 * decides what is imported, so a JWK that differs in any member is looked at anew.
 *
 * ES256, which nearly everybody uses, is verified by OpenSSL on the spot: a job for WebCrypto's thread pool costs twice
 * as much as the work that it carries. The rest goes the standard way.
 */
export function createKeyImporter(limit = 10_000): KeyImporter {
  const cache = new BoundedCache<ReturnType<KeyImporter>>(limit)
  return (jwk, algorithm) => {
    const id = `${algorithm} ${JSON.stringify(jwk)}`
    const known = cache.get(id)
    if (known) return known
    const imported = importPublicKey(jwk, algorithm).then((key) =>
      algorithm === 'ES256' && key ? withFastVerify(key, jwk) : key,
    )
    // The largest RSA key takes 1,500 characters. A stranger writes the JWK, and what is kept of it must stay small.
    if (id.length <= 2048) cache.set(id, imported)
    return imported
  }
}

function withFastVerify(key: PublicKey, { kty, crv, x, y }: JWK): PublicKey | null {
  let fast: KeyObject
  try {
    fast = createPublicKey({ format: 'jwk', key: { kty, crv, x, y } as Record<string, string> })
  } catch {
    // A stranger's key that the two importers judge differently is no key.
    return null
  }
  return Object.freeze({ ...key, verify: (jwt: UnverifiedJwt) => hasEs256Signature(jwt.token, fast) })
}

function hasEs256Signature(token: string, key: KeyObject): boolean {
  const dot = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  if (signature.length !== 64) return false
  return verify('sha256', Buffer.from(token.slice(0, dot), 'latin1'), key, asDer(signature))
}

/**
 * RFC 7518, 3.4: R and S, 32 bytes each. OpenSSL takes them as DER, a sequence of two integers; Node can do the same
 * (`dsaEncoding`), at twice the price of the whole check.
 */
function asDer(signature: Buffer): Buffer {
  const body = Buffer.concat([asInteger(signature.subarray(0, 32)), asInteger(signature.subarray(32))])
  return Buffer.concat([Buffer.from([0x30, body.length]), body])
}

function asInteger(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const magnitude = bytes.subarray(start)
  // A first bit that is set would make it negative.
  const sign = (magnitude[0] ?? 0) >= 0x80 ? [0] : []
  return Buffer.concat([Buffer.from([0x02, magnitude.length + sign.length, ...sign]), magnitude])
}
