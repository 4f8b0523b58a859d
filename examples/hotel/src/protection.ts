import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { Refusal } from './refusal.ts'

// No script, no frame, nothing from elsewhere. A form's answer may lead to this site's own pages alone.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers that tell browsers what our pages never do. Pages are not kept, unless a route says otherwise. */
export function protectPages(secure: boolean): MiddlewareHandler {
  return async (context, next) => {
    await next()
    const headers = context.res.headers
    headers.set('content-security-policy', CONTENT_SECURITY_POLICY)
    headers.set('x-content-type-options', 'nosniff')
    // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
    headers.set('referrer-policy', 'same-origin')
    headers.set('cross-origin-opener-policy', 'same-origin')
    headers.set('cross-origin-resource-policy', 'same-origin')
    if (secure) headers.set('strict-transport-security', 'max-age=31536000')
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  }
}

/** Refuses a body over 16 KB, before it is read whole. */
export const limitBody: MiddlewareHandler = bodyLimit({
  maxSize: 16 * 1024,
  onError: () => {
    throw new Refusal('invalid', 'That is more than our forms hold. Nothing was changed.')
  },
})
