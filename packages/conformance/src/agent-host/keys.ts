import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** Keys, and JWTs that are put together by hand, so that everything of them can be wrong. */

/** A P-256 key pair. */
export interface KeyPair {
  readonly kid: string
  readonly privateKey: KeyObject
  /** `kty`, `crv`, `x`, `y`. */
  readonly publicJwk: Readonly<Record<string, unknown>>
}

/** Makes a key pair with a name of its own. */
export function makeKeyPair(kid: string = randomId()): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { kid, privateKey, publicJwk: publicKey.export({ format: 'jwk' }) as Record<string, unknown> }
}

/** The private half as a JWK: for sets that give it away. */
export function privateJwk({ privateKey }: KeyPair): Record<string, unknown> {
  return privateKey.export({ format: 'jwk' }) as Record<string, unknown>
}

/** A public RSA key of 1,024 bits, which nobody takes any more. */
export function weakRsaJwk(): Record<string, unknown> {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  return publicKey.export({ format: 'jwk' }) as Record<string, unknown>
}

/** 128 random bits in base64url. */
export function randomId(): string {
  return randomBytes(16).toString('base64url')
}

const encode = (part: string | object) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

/** A compact JWT with an ES256 signature; header and payload may be texts that no JSON writer would write. */
export function signed(header: string | object, payload: string | object, key: KeyObject): string {
  const text = `${encode(header)}.${encode(payload)}`
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** A compact JWT with this signature behind it, whatever it is. */
export function withSignature(
  header: string | object,
  payload: string | object,
  make: (text: string) => Uint8Array,
): string {
  const text = `${encode(header)}.${encode(payload)}`
  return `${text}.${Buffer.from(make(text)).toString('base64url')}`
}
