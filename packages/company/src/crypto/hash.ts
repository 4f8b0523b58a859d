import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256 of a text in base64url: what a secret is stored as, and what `ath` is made of (4.3). */
export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Compares two secrets without telling by the time it takes where they differ. */
export function isSameSecret(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(left)), Buffer.from(sha256(right)))
}

/** SHA-256 in standard base64, as Content-Security-Policy writes it. */
export function sha256Standard(text: string): string {
  return hash('sha256', text, 'base64')
}
