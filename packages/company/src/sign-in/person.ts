import { isJsonObject } from '@poppyseed/protocol'
import { mediaType, readBody } from '../http/body.ts'

/** The person at a page that grants something (4.5, 4.6): who they are, and that the form is ours. */

/** An account at the site, as the company names it. */
export interface Account {
  /** The company's own, stable id. Never shown. */
  readonly id: string
  /** How the person knows it, such as an email address. Shown on the consent page. */
  readonly name: string
}

/** The fields of a form; another type is no form of ours, and then nothing of it is there. */
export async function readFields(request: Request): Promise<URLSearchParams> {
  const text = await readBody(request, 65_536)
  return new URLSearchParams(mediaType(request) === 'application/x-www-form-urlencoded' ? text : '')
}

/** Who is signed in to the site; what the company's own code gives is looked at before anything is bound to it. */
export async function accountOf(
  request: Request,
  settings: { readonly account: (request: Request) => Account | null | Promise<Account | null> },
): Promise<Account | null> {
  const account: unknown = await settings.account(request)
  if (account === null || account === undefined) return null
  if (!isJsonObject(account) || typeof account.id !== 'string' || account.id === '' || typeof account.name !== 'string')
    throw new TypeError('`account` has to give { id, name }, both texts, or null.')
  return { id: account.id, name: account.name }
}

/** A form that grants is taken from our own pages only. Browsers tell where it came from, in one header or the other. */
export function isFromOurPage(request: Request, origin: string): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const from = request.headers.get('origin')
  return from === null || from === origin
}

/** Sends the person to the site's own sign-in, to come back to this page. */
export function toSignIn(
  settings: { readonly signInPage: (returnTo: string) => string; readonly origin: string },
  returnTo: string,
): Response {
  return new Response(null, {
    status: 303,
    headers: { location: new URL(settings.signInPage(returnTo), settings.origin).href, 'cache-control': 'no-store' },
  })
}
