import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import type { DerivedKey, Keyring } from './keyring.ts'
import { systemRandom } from './random.ts'

/**
 * Sealed texts: compact JWE (RFC 7516) with `dir` and `A256GCM`. Who holds one can neither read nor change it (4.2, token
 * format). Any JOSE library with the key opens them; Node's own cipher does it here, since a job for WebCrypto's thread
 * pool costs many times what these few bytes do.
 */
export interface Sealer {
  readonly seal: (content: unknown) => string
  /** The content, or null when it wasn't sealed by any of our keys. */
  readonly open: (sealed: string) => unknown
}

/** GCM, as RFC 7518 5.3 fixes it: 96 bits of IV, 128 bits of tag. */
const ivLength = 12
const tagLength = 16
const longest = 65_536
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Seals with the newest key and opens with any, so a rotated secret signs nobody out. */
export function createSealer(keyring: Keyring): Sealer {
  const keys = keyring.all.map((key) => ({ header: headerOf(key), key: createSecretKey(key.bytes) }))
  const byHeader = new Map(keys.map((one) => [one.header, one.key]))
  const newest = keys[0]
  if (!newest) throw new TypeError('no key to seal with')
  return {
    seal(content) {
      const iv = systemRandom(ivLength)
      const cipher = createCipheriv('aes-256-gcm', newest.key, iv, { authTagLength: tagLength })
      cipher.setAAD(Buffer.from(newest.header, 'ascii'))
      const text = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()])
      // `dir`: the second part, the encrypted key, is empty
      return `${newest.header}..${encode(iv)}.${encode(text)}.${encode(cipher.getAuthTag())}`
    },
    open(sealed) {
      if (sealed.length > longest) return null
      const [header = '', encryptedKey, ...rest] = sealed.split('.')
      // The header is one of ours to the letter, so nobody chooses an algorithm.
      const key = byHeader.get(header)
      if (!key || encryptedKey !== '' || rest.length !== 3) return null
      const [iv, text, tag] = rest.map(decode)
      if (!iv || !text || !tag || iv.length !== ivLength || tag.length !== tagLength) return null
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagLength })
        decipher.setAAD(Buffer.from(header, 'ascii'))
        decipher.setAuthTag(tag)
        return JSON.parse(decoder.decode(Buffer.concat([decipher.update(text), decipher.final()])))
      } catch {
        // Not ours, cut short or changed: all the same to whoever presents it.
        return null
      }
    },
  }
}

function headerOf(key: DerivedKey): string {
  return encode(Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: key.id })))
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}

/** Null for what isn't base64url in its one canonical form: a sealed text has one spelling. */
function decode(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}
