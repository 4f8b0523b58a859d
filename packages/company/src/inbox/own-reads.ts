import { json } from '../http/respond.ts'
import type { Handler } from '../http/router.ts'
import { inboxHeaders } from './frame.ts'

/**
 * A page may lead a person here, and nothing more: an image or a frame of it would be asked for with the cookie of whoever looks at
 * that page, and say of them that they are here and have read what they never saw. So would what a browser asks for ahead.
 */
export function ownReads(methods: Readonly<Record<string, Handler>>): Record<string, Handler> {
  return Object.fromEntries(
    Object.entries(methods).map(([method, handler]): [string, Handler] => [
      method,
      method === 'GET'
        ? async (request, rest) => (isUnseen(request) ? refusal() : handler(request, rest))
        : // A form says by itself where it came from.
          handler,
    ]),
  )
}

/** Whether nobody sees what is asked for. Browsers say so; what says nothing is no browser. */
export function isUnseen({ headers }: Request): boolean {
  // An address that is being typed, a link that may be followed: what is refused is asked for anew once somebody goes there.
  if (headers.get('sec-purpose')?.includes('prefetch') === true) return true
  const [site, mode, destination] = ['site', 'mode', 'dest'].map((name) => headers.get(`sec-fetch-${name}`))
  // Of the company's own pages too, on which a customer's picture may have any address: our script asks for data (`empty`).
  if (site === null || site === 'same-origin' || site === 'none')
    return destination !== null && destination !== 'document' && destination !== 'empty'
  return mode !== 'navigate' || destination !== 'document'
}

const refusal = () =>
  json({ error: 'access_denied', error_description: 'Pages can only link to this.' }, 403, inboxHeaders)
