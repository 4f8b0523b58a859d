import type { CryptoKey, JWK } from 'jose'
import { SignJWT } from 'jose/jwt/sign'
import { PoppyError } from './errors.ts'
import { hasValidSignature, isPublicKeyFor, type KeyImporter, readJwt, readText, readTime } from './jwt.ts'
import { isJsonObject } from './strict-json.ts'

/** DPoP Proofs (4.3, RFC 9449): made by the Personal Agent, checked by the Company. Pure: time, keys and nonces are handed in. */

/** What a proof is checked against. */
export interface ProofExpectation {
  readonly method: string
  /** The public URL of the request, from the configured origin, without query and fragment. */
  readonly url: string
  /** Unix time in seconds. */
  readonly now: number
  /** How many seconds before `now` a proof may have been made. */
  readonly window: number
  /** How many seconds after `now` a proof may claim to have been made. */
  readonly skew: number
  /** base64url SHA-256 of the Session Token sent with it; absent at the token endpoint, where a proof has no `ath`. */
  readonly tokenHash?: string
  /** Thumbprint of the key that the token is bound to. */
  readonly boundTo?: string
  /** Says whether a nonce may pass; left out where nonces are off. */
  readonly acceptsNonce?: (nonce: string | undefined) => boolean
  readonly importKey: KeyImporter
}

/** A proof that passed everything but the replay check, which needs a store. */
export interface CheckedProof {
  /** Thumbprint of the key that made it (RFC 7638). */
  readonly thumbprint: string
  readonly id: string
  /**
   * Seconds, whole: from then on the proof can't pass any more, not even at an instance whose clock is behind by the
   * skew. Its id is remembered until then.
   */
  readonly passesUntil: number
  /** `iat`, in seconds. */
  readonly issuedAt: number
  readonly nonce: string | undefined
}

function refuse(reason: string): PoppyError {
  return new PoppyError('invalid_dpop_proof', { description: 'The DPoP proof was not accepted.', reason })
}

/**
 * Checks a proof: the cheap comparisons first, the nonce, then the signature.
 * The caller still claims `id` under `thumbprint` until `passesUntil`.
 * @throws PoppyError `invalid_dpop_proof` or `use_dpop_nonce`
 */
export async function checkProof(proof: string | null | undefined, expected: ProofExpectation): Promise<CheckedProof> {
  if (!proof) throw refuse('no proof')
  const jwt = readJwt(proof)
  if (typeof jwt === 'string') throw refuse(jwt)
  if (jwt.type !== 'dpop+jwt') throw refuse('wrong typ')
  const jwk = jwt.header.jwk
  if (!isJsonObject(jwk) || !isPublicKeyFor(jwk as JWK, jwt.algorithm))
    throw refuse('no usable public key in the header')

  const { payload } = jwt
  const id = readText(payload, 'jti')
  const issuedAt = readTime(payload, 'iat')
  if (id === undefined || issuedAt === undefined) throw refuse('jti or iat missing')
  if (payload.htm !== expected.method) throw refuse('htm differs')
  if (typeof payload.htu !== 'string' || !isSameUrl(payload.htu, expected.url)) throw refuse('htu differs')
  if (issuedAt < expected.now - expected.window || issuedAt > expected.now + expected.skew)
    throw refuse('iat outside the window')
  if (payload.exp !== undefined && !((readTime(payload, 'exp') ?? 0) > expected.now)) throw refuse('expired')
  // 4.3: a proof for the token endpoint has no ath, a proof for anything else has the token's
  if (expected.tokenHash !== payload.ath) throw refuse('ath differs')

  const key = await expected.importKey(jwk as JWK, jwt.algorithm)
  if (!key) throw refuse('key unusable')
  if (expected.boundTo !== undefined && key.thumbprint !== expected.boundTo) throw refuse('not the key of the token')
  const nonce = typeof payload.nonce === 'string' ? payload.nonce : undefined
  if (expected.acceptsNonce && !expected.acceptsNonce(nonce)) {
    throw new PoppyError('use_dpop_nonce', {
      description: 'The proof needs the nonce of this answer.',
      reason: 'nonce',
    })
  }
  if (!(await hasValidSignature(jwt, key))) throw refuse('signature')
  // Accepted while iat >= now - window: the moment iat + window still counts, and iat may lie in the future.
  const passesUntil = Math.floor(issuedAt + expected.window + expected.skew) + 1
  return { thumbprint: key.thumbprint, id, issuedAt, nonce, passesUntil }
}

/** RFC 9449, 4.3: compared without query and fragment, after syntax-based normalisation. */
function isSameUrl(claimed: string, expected: string): boolean {
  if (claimed === expected) return true
  // What parsers drop or turn ("\\" into "/") is no spelling of this URL.
  if (claimed.length > 4096 || /[\s\\\p{Cc}]/u.test(claimed)) return false
  const wanted = normalise(expected)
  return wanted !== null && normalise(claimed) === wanted
}

function normalise(url: string): string | null {
  try {
    const parsed = new URL(url)
    if (parsed.username !== '' || parsed.password !== '') return null
    const path = parsed.pathname.replace(/%[0-9a-fA-F]{2}/g, (code) => {
      const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
      return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase()
    })
    return parsed.origin + path
  } catch {
    return null
  }
}

/** What a proof is made from. */
export interface ProofRequest {
  readonly method: string
  /** The request's URL; query and fragment are left out of the proof. */
  readonly url: string
  /** Unix time in seconds, as the Company's clock is believed to show it. */
  readonly now: number
  /** At least 96 random bits. */
  readonly id: string
  readonly nonce?: string
  /** base64url SHA-256 of the Session Token; left out at the token endpoint. */
  readonly tokenHash?: string
}

/** Makes a proof with an ES256 key pair (4.3). */
export async function makeProof(
  keys: { readonly privateKey: CryptoKey; readonly publicJwk: JWK },
  request: ProofRequest,
): Promise<string> {
  const url = new URL(request.url)
  const { kty, crv, x, y } = keys.publicJwk
  return new SignJWT({
    jti: request.id,
    htm: request.method,
    htu: url.origin + url.pathname,
    iat: Math.floor(request.now),
    ...(request.tokenHash === undefined ? {} : { ath: request.tokenHash }),
    ...(request.nonce === undefined ? {} : { nonce: request.nonce }),
  })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } as JWK })
    .sign(keys.privateKey)
}
