import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { Refusal } from './refusal.ts'

/** Makes and checks the hidden token of our forms. */
export type FormTokens = {
  /** The token for the browser that holds the cookie value `id`. */
  readonly make: (id: string) => string
  /** Throws Refusal `forbidden` unless `token` belongs to `id`. */
  readonly check: (id: string | undefined, token: string | undefined) => void
}

const STALE = 'This form has grown stale, and nothing was changed. Go back, load the page again and send it once more.'

/** Form tokens bound to a cookie: another site can send our form, but cannot know its token. */
export function formTokens(secret: Uint8Array): FormTokens {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'hotel miramar form token', 32))
  const mac = (id: string): Buffer => createHmac('sha256', key).update(id).digest()
  return {
    make: (id) => mac(id).toString('base64url'),
    check(id, token) {
      const given = Buffer.from(token ?? '', 'base64url')
      if (id === undefined || given.length !== 32 || !timingSafeEqual(given, mac(id)))
        throw new Refusal('forbidden', STALE)
    },
  }
}

/** Refuses a POST that a browser says comes from another site. A client that says nothing still needs the token. */
export function refuseCrossSite(request: Request): void {
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  // Only hosts are compared: behind a proxy that ends TLS, our own scheme reads http.
  const sameHost = origin === null || (URL.canParse(origin) && new URL(origin).host === new URL(request.url).host)
  const sameSite = site === null || site === 'same-origin' || site === 'none'
  if (!sameHost || !sameSite)
    throw new Refusal('forbidden', 'That form was sent from another site. Nothing was changed.')
}

/** The fields of a posted form. Refuses another content type and a field given twice. */
export async function readForm(request: Request): Promise<ReadonlyMap<string, string>> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') throw new Refusal('invalid', 'This page takes forms only.')
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(await request.text())) {
    if (fields.has(name)) throw new Refusal('invalid', 'The form has the same field twice.')
    fields.set(name, value)
  }
  return fields
}
