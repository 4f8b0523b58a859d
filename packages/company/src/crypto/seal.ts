import { CompactEncrypt, type CryptoKey, compactDecrypt, decodeProtectedHeader } from 'jose'
import type { Keyring } from './keyring.ts'

/** Sealed texts: compact JWE with `dir` and `A256GCM`. Who holds one can neither read nor change it (4.2, token format). */
export interface Sealer {
  readonly seal: (content: unknown) => Promise<string>
  /** The content, or null when it wasn't sealed by any of our keys. */
  readonly open: (sealed: string) => Promise<unknown>
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Seals with the newest key and opens with any, so a rotated secret signs nobody out. */
export function createSealer(keyring: Keyring): Sealer {
  const imported = new Map<string, Promise<CryptoKey>>()
  const keyOf = (id: string): Promise<CryptoKey> | undefined => {
    const derived = keyring.find(id)
    if (!derived) return undefined
    let key = imported.get(id)
    if (!key) {
      key = crypto.subtle.importKey('raw', new Uint8Array(derived.bytes), 'AES-GCM', false, ['encrypt', 'decrypt'])
      imported.set(id, key)
    }
    return key
  }
  return {
    async seal(content) {
      const key = await keyOf(keyring.newest.id)
      if (!key) throw new TypeError('no key to seal with')
      return new CompactEncrypt(encoder.encode(JSON.stringify(content)))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: keyring.newest.id })
        .encrypt(key)
    },
    async open(sealed) {
      try {
        const { kid } = decodeProtectedHeader(sealed)
        const key = typeof kid === 'string' ? await keyOf(kid) : undefined
        if (!key) return null
        const { plaintext } = await compactDecrypt(sealed, key, {
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        })
        return JSON.parse(decoder.decode(plaintext))
      } catch {
        // Not ours, cut short or changed: all the same to whoever presents it.
        return null
      }
    },
  }
}
