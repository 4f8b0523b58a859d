import type { CryptoKey, JWK } from 'jose'
import * as base64url from 'jose/base64url'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { compactVerify } from 'jose/jws/compact/verify'
import { importJWK } from 'jose/key/import'
import { isJsonObject, parseStrictJson } from './strict-json.ts'

/**
 * Compact JWTs, read before they are believed: header and payload are parsed strictly and stay claims until
 * {@link hasValidSignature} has been asked.
 */

/** The signature algorithms taken from anybody: asymmetric only, so a public key can never serve as an HMAC secret. */
export const signatureAlgorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const
/** One of {@link signatureAlgorithms}. */
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number]

/** A JWT taken apart. Nothing in it is verified yet. */
export interface UnverifiedJwt {
  readonly token: string
  readonly algorithm: SignatureAlgorithm
  readonly type: string | undefined
  readonly keyId: string | undefined
  readonly header: Readonly<Record<string, unknown>>
  readonly payload: Readonly<Record<string, unknown>>
}

/** Why a JWT isn't one that we read. Private: for logs. */
export type JwtFault = 'too_long' | 'not_compact' | 'bad_json' | 'bad_algorithm' | 'critical_header'

const maxLength = 8192
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const compact = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

/** Takes a compact JWT apart, or says why not. */
export function readJwt(token: string): UnverifiedJwt | JwtFault {
  if (token.length > maxLength) return 'too_long'
  if (!compact.test(token)) return 'not_compact'
  const [head = '', body = ''] = token.split('.')
  let header: unknown
  let payload: unknown
  try {
    header = parseStrictJson(decoder.decode(base64url.decode(head)), 8)
    payload = parseStrictJson(decoder.decode(base64url.decode(body)), 8)
  } catch {
    return 'bad_json'
  }
  if (!isJsonObject(header) || !isJsonObject(payload)) return 'bad_json'
  if (header.crit !== undefined) return 'critical_header'
  const algorithm = signatureAlgorithms.find((known) => known === header.alg)
  if (!algorithm) return 'bad_algorithm'
  return {
    token,
    algorithm,
    type: readType(header.typ),
    keyId: typeof header.kid === 'string' ? header.kid : undefined,
    header,
    payload,
  }
}

/** `typ` in lower case without `application/`; a `typ` that is no string is none that anybody accepts. */
function readType(typ: unknown): string | undefined {
  if (typ === undefined) return undefined
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : 'not a string'
}

/** A public key ready for use, with its RFC 7638 thumbprint. */
export interface PublicKey {
  readonly key: CryptoKey
  readonly thumbprint: string
  /** A faster check than the standard one, where the side that imported the key has one. */
  readonly verify?: (jwt: UnverifiedJwt) => boolean
}

/** Makes a usable key of a JWK, or null when the JWK is private, symmetric, weak or not for this algorithm. */
export type KeyImporter = (jwk: JWK, algorithm: SignatureAlgorithm) => Promise<PublicKey | null>

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/**
 * Whether a JWK is a public key that fits the algorithm. RSA below 2048 or above 8192 bits does not, nor one with an
 * exponent above 32 bits: strangers send such keys to make verifying dear.
 */
export function isPublicKeyFor(jwk: JWK, algorithm: SignatureAlgorithm): boolean {
  if (privateMembers.some((member) => Object.hasOwn(jwk, member))) return false
  if (jwk.alg !== undefined && jwk.alg !== algorithm && !(isEdwards(jwk.alg) && isEdwards(algorithm))) return false
  if (jwk.use !== undefined && jwk.use !== 'sig') return false
  switch (algorithm) {
    case 'ES256':
      return jwk.kty === 'EC' && jwk.crv === 'P-256' && isCoordinate32(jwk.x) && isCoordinate32(jwk.y)
    case 'ES384':
      return (
        jwk.kty === 'EC' &&
        jwk.crv === 'P-384' &&
        isBase64url(jwk.x, jwk.y) &&
        isBetween(jwk.x, 64, 64) &&
        isBetween(jwk.y, 64, 64)
      )
    case 'RS256':
    case 'PS256':
      return jwk.kty === 'RSA' && isBase64url(jwk.n, jwk.e) && isBetween(jwk.n, 342, 1366) && isBetween(jwk.e, 1, 6)
    case 'EdDSA':
    case 'Ed25519':
      return jwk.kty === 'OKP' && jwk.crv === 'Ed25519' && isCoordinate32(jwk.x)
  }
}

function isEdwards(algorithm: string): boolean {
  return algorithm === 'EdDSA' || algorithm === 'Ed25519'
}

function isBetween(text: string | undefined, shortest: number, longest: number): boolean {
  return text !== undefined && text.length >= shortest && text.length <= longest
}

/** RFC 7518, 6.2.1.2: 32 bytes, zeros in front included, and no bits left over in the last letter. */
function isCoordinate32(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(value)
}

/** RFC 7518, 6: no padding, no other alphabet, no white space. Importers let them pass, and one key had many thumbprints. */
function isBase64url(...values: unknown[]): boolean {
  return values.every((value) => typeof value === 'string' && /^[A-Za-z0-9_-]+$/.test(value))
}

/** Imports a key without remembering it; a busy side hands in one that remembers. */
export const importPublicKey: KeyImporter = async (jwk, algorithm) => {
  if (!isPublicKeyFor(jwk, algorithm)) return null
  try {
    const key = await importJWK(jwk, algorithm)
    if (key instanceof Uint8Array) return null
    return { key: key as CryptoKey, thumbprint: await calculateJwkThumbprint(jwk) }
  } catch {
    return null
  }
}

/** Whether the signature is the key's. */
export async function hasValidSignature(jwt: UnverifiedJwt, key: PublicKey): Promise<boolean> {
  if (key.verify) return key.verify(jwt)
  try {
    await compactVerify(jwt.token, key.key, { algorithms: [jwt.algorithm] })
    return true
  } catch {
    return false
  }
}

/** A NumericDate claim in seconds, or undefined when it is absent or not a finite number of our era. */
export function readTime(payload: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = payload[name]
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value < 1e11 ? value : undefined
}

/** A non-empty string claim of at most `maxLength` characters, or undefined. */
export function readText(
  payload: Readonly<Record<string, unknown>>,
  name: string,
  maxLength = 256,
): string | undefined {
  const value = payload[name]
  return typeof value === 'string' && value !== '' && value.length <= maxLength ? value : undefined
}
