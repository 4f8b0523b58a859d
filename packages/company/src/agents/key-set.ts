import {
  DocumentError,
  isJsonObject,
  type KeyImporter,
  type PublicKey,
  type SignatureAlgorithm,
} from '@poppyseed/protocol'
import type { JWK } from 'jose'

/** The keys that a Personal Agent publishes at its `jwks_uri` (4.1). */

/** A key set, read: public keys of types that we may know, in the agent's order. */
export type KeySet = readonly JWK[]

/** More than this is no set of signing keys, and an assertion without `kid` would try them all. */
const maxKeys = 20

/** Members that only a private or a symmetric key has. */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/**
 * Reads a key set. Keys of an unknown type are left out.
 * @throws DocumentError for anything that isn't a key set, and for a set with any key in it that isn't public
 */
export function readKeySet(document: unknown): KeySet {
  if (!isJsonObject(document) || !Array.isArray(document.keys)) throw invalid('keys is missing')
  const entries: readonly unknown[] = document.keys
  if (entries.length > maxKeys) throw invalid('too many keys')
  const keys: JWK[] = []
  for (const entry of entries) {
    if (!isJsonObject(entry) || typeof entry.kty !== 'string') throw invalid('an entry is not a key')
    // 4.1: only public keys. An agent that published a secret has lost it: none of its set is believed.
    if (entry.kty === 'oct' || secretMembers.some((member) => Object.hasOwn(entry, member))) {
      throw invalid('a key in it is not public')
    }
    if (isUsable(entry)) keys.push(entry as JWK)
  }
  return keys
}

function isUsable({ kty, e }: Record<string, unknown>): boolean {
  // An exponent as long as the modulus makes each check of a signature hundreds of times dearer.
  if (kty === 'RSA') return typeof e === 'string' && e.length <= 8
  return kty === 'EC' || kty === 'OKP'
}

/**
 * The keys that may have signed: with a `kid` those of that name, without one all. Whether a key fits the algorithm is
 * for the importer to say, save for its type, which is plain.
 */
export function findCandidates(keys: KeySet, keyId: string | undefined, algorithm: SignatureAlgorithm): readonly JWK[] {
  const type = keyTypes[algorithm]
  return keys.filter((key) => key.kty === type && (keyId === undefined || key.kid === keyId))
}

const keyTypes: Readonly<Record<SignatureAlgorithm, string>> = {
  ES256: 'EC',
  ES384: 'EC',
  RS256: 'RSA',
  PS256: 'RSA',
  EdDSA: 'OKP',
  Ed25519: 'OKP',
}

/** Imports each key of a set once: importing costs as much as checking a signature. Forgotten with the set itself. */
export function importOnce(importKey: KeyImporter): KeyImporter {
  const imported = new WeakMap<JWK, Map<SignatureAlgorithm, Promise<PublicKey | null>>>()
  return (jwk, algorithm) => {
    const ofKey = imported.get(jwk) ?? new Map<SignatureAlgorithm, Promise<PublicKey | null>>()
    imported.set(jwk, ofKey)
    const key = ofKey.get(algorithm) ?? importKey(jwk, algorithm)
    ofKey.set(algorithm, key)
    return key
  }
}

function invalid(message: string): DocumentError {
  return new DocumentError('invalid', `key set: ${message}`)
}
