import { isJsonObject } from '@poppyseed/protocol'
import type { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import { mediaType, readBody } from '../http/body.ts'
import type { RequestLimits } from '../limits/request-limits.ts'
import type { AccountLine } from '../pages/account-line.tsx'
import type { Wordings } from '../words/wording.ts'

/** The person at a page that grants something (4.5, 4.6): who they are, and that the form is ours. */

/** An account at the site, as the company names it. */
export interface Account {
  /** The company's own, stable id. Never shown. */
  readonly id: string
  /** How the person knows it, such as an email address. Shown on the consent page. */
  readonly name: string
}

/** Where people of the company's site sign in, and who has. */
export interface People {
  readonly account: (request: Request) => Account | null | Promise<Account | null>
  readonly signInPage: (returnTo: string) => string
  readonly switchAccountPage: (returnTo: string) => string
}

/** What each page is made with on which a person decides something. */
export interface PersonPage extends People {
  readonly issuer: string
  readonly origin: string
  readonly organization: string
  readonly wordings: Wordings
  readonly forms: Sealer
  readonly requestLimits: RequestLimits
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The fields of a form; another type is no form of ours, and then nothing of it is there. */
export async function readFields(request: Request): Promise<URLSearchParams> {
  const text = await readBody(request, 65_536)
  return new URLSearchParams(mediaType(request) === 'application/x-www-form-urlencoded' ? text : '')
}

/** A field that stands there once. */
export function single(fields: URLSearchParams, name: string): string | undefined {
  const values = fields.getAll(name)
  return values.length === 1 ? values[0] : undefined
}

/**
 * What our form carries, sealed; null where it isn't ours, or not this one. Whose it is and until when it is good is looked at
 * by the page.
 */
export function openForm<Form extends { readonly issuer: string }>(
  schema: z.ZodType<Form>,
  fields: URLSearchParams,
  { forms, issuer }: Pick<PersonPage, 'forms' | 'issuer'>,
): Form | null {
  const form = schema.safeParse(forms.open(single(fields, 'request') ?? ''))
  // Two Companies may share a secret, and account ids as well.
  return form.success && form.data.issuer === issuer ? form.data : null
}

/** Who is signed in to the site; what the company's own code gives is looked at before anything is bound to it. */
export async function accountOf(request: Request, settings: Pick<People, 'account'>): Promise<Account | null> {
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
export function toSignIn(settings: Pick<PersonPage, 'signInPage' | 'origin'>, returnTo: string): Response {
  return new Response(null, {
    status: 303,
    headers: { location: new URL(settings.signInPage(returnTo), settings.origin).href, 'cache-control': 'no-store' },
  })
}

/** Whose page it is, and where the person chooses another account, to come back to this page. */
export function accountShown(
  { switchAccountPage, origin }: Pick<PersonPage, 'switchAccountPage' | 'origin'>,
  account: Account,
  returnTo: string,
): AccountLine {
  return { accountName: account.name, switchAccountUrl: new URL(switchAccountPage(returnTo), origin).href }
}
