import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Signatures as Standard Webhooks 1.0 has them: `v1`, HMAC-SHA256 of the id, the time in seconds and the body, with full stops
 * between them.
 */

/** The headers of a delivery. */
export const webhookHeaders = { id: 'webhook-id', time: 'webhook-timestamp', signature: 'webhook-signature' } as const

const prefix = 'whsec_'
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

/**
 * The key that a secret stands for, or null for one that is none: too short, too even, or no base64 behind `whsec_`.
 * @param secret `whsec_` and the base64 of 24 to 64 bytes, or at least 32 characters, which are taken as they are
 */
export function signingKey(secret: string): Uint8Array | null {
  if (secret.startsWith(prefix)) {
    const text = secret.slice(prefix.length)
    const key = base64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
    return key.length >= 24 && key.length <= 64 && new Set(key).size >= 8 ? key : null
  }
  return secret.length >= 32 && secret.length <= 1024 && new Set(secret).size >= 10 ? Buffer.from(secret, 'utf8') : null
}

/** What is signed, and when. */
export interface Signed {
  readonly id: string
  /** Seconds since 1970. */
  readonly at: number
  readonly body: string
}

/** The value of `webhook-signature`: a signature by each key. */
export function signatureOf(keys: readonly Uint8Array[], signed: Signed): string {
  return keys.map((key) => `v1,${hmac(key, signed).toString('base64')}`).join(' ')
}

/** Whether one of the signatures is by one of the keys. Each is compared in constant time. */
export function isSignedBy(keys: readonly Uint8Array[], header: string, signed: Signed): boolean {
  const expected = keys.map((key) => hmac(key, signed))
  let isRight = false
  for (const one of header.split(' ').slice(0, 20)) {
    const [version, text = ''] = one.split(',', 2)
    const given = Buffer.from(text, 'base64')
    if (version !== 'v1') continue
    for (const own of expected) if (given.length === own.length && timingSafeEqual(given, own)) isRight = true
  }
  return isRight
}

function hmac(key: Uint8Array, { id, at, body }: Signed): Buffer {
  return createHmac('sha256', key).update(`${id}.${at}.${body}`, 'utf8').digest()
}
