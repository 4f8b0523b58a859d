import type { SigningKey } from '@poppyseed/protocol'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { AgentError } from '../errors.ts'

/** Keys of a Personal Agent: those it publishes (4.1), and those of its proofs, which it never publishes (4.3). */

/** A private ES256 key as JSON (RFC 7517): a secret, to be kept as one. */
export interface PrivateKeyJson {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly d: string
  readonly kid: string
}

/** Makes a new ES256 key. `kid` is its thumbprint (RFC 7638). */
export async function generateKey(): Promise<PrivateKeyJson> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return readPrivateKey({ ...jwk, kid: await calculateJwkThumbprint(jwk) })
}

/**
 * Checks that a value is a private ES256 key with a `kid`.
 * @throws AgentError `misconfigured`
 */
export function readPrivateKey(value: unknown): PrivateKeyJson {
  const { kty, crv, x, y, d, kid } = (typeof value === 'object' && value !== null ? value : {}) as JWK
  if (kty !== 'EC' || crv !== 'P-256' || !x || !y || !d || !kid) {
    throw new AgentError(
      'misconfigured',
      'A key of the Personal Agent must be a private ES256 key (EC, P-256) with a kid.',
    )
  }
  return { kty: 'EC', crv: 'P-256', x, y, d, kid }
}

/** The public half, as it stands in the key set. Members are named one by one, so that `d` can't come along. */
export function publicKeyJson({ kty, crv, x, y, kid }: PrivateKeyJson): JWK {
  return { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }
}

/** A key ready to sign assertions. */
export async function signingKey(key: PrivateKeyJson): Promise<SigningKey> {
  return { keyId: key.kid, algorithm: 'ES256', privateKey: await importPrivate(key) }
}

/** A key pair ready to sign proofs (4.3). */
export interface ProofKeys {
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

/** A key pair ready to sign proofs. */
export async function proofKeys(key: PrivateKeyJson): Promise<ProofKeys> {
  const { kty, crv, x, y } = key
  return { privateKey: await importPrivate(key), publicJwk: { kty, crv, x, y } }
}

async function importPrivate({ kty, crv, x, y, d }: PrivateKeyJson): Promise<CryptoKey> {
  return (await importJWK({ kty, crv, x, y, d }, 'ES256', { extractable: false })) as CryptoKey
}
