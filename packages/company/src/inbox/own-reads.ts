import { json } from '../http/respond.ts'
import type { Handler } from '../http/router.ts'
import { inboxHeaders } from './frame.ts'

/**
 * A page of another site may lead a person here, and nothing more: an image or a frame of it would be asked for with the cookie
 * of whoever looks at that page, and say of them that they are here and have read what they never saw.
 */
export function ownReads(methods: Readonly<Record<string, Handler>>): Record<string, Handler> {
  return Object.fromEntries(
    Object.entries(methods).map(([method, handler]): [string, Handler] => [
      method,
      method === 'GET'
        ? async (request, rest) => (isEmbedded(request) ? refusal() : handler(request, rest))
        : // A form says by itself where it came from.
          handler,
    ]),
  )
}

/** Browsers say so; what says nothing is no browser. */
function isEmbedded({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin' || site === 'none') return false
  return headers.get('sec-fetch-mode') !== 'navigate' || headers.get('sec-fetch-dest') !== 'document'
}

const refusal = () =>
  json({ error: 'access_denied', error_description: 'Pages of other sites can only link to this.' }, 403, inboxHeaders)
