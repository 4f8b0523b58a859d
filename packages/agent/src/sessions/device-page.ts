import { isLoopbackHost } from '@poppyseed/protocol'
import { z } from 'zod'
import { readReturnTo } from '../browser/return-to.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { hiddenCharacter } from '../net/text.ts'

/** What a Company answers when Device Sign-In begins (4.6), and what of it a person may be shown. Pure. */

/** The answer of the device authorization endpoint. */
export const deviceSchema = z.object({
  device_code: z
    .string()
    .max(8192)
    .regex(/^[\x21-\x7e]+$/),
  user_code: z.string().min(1).max(64),
  verification_uri: z.string().min(1).max(2048),
  verification_uri_complete: z.string().min(1).max(2048).optional().catch(undefined),
  expires_in: z.number().positive(),
  // RFC 8628, 3.2: 5 seconds where nothing is said
  interval: z.number().positive().optional().catch(undefined),
})

/** What a person is shown. */
export interface DeviceShown {
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string | undefined
  readonly isOwnPage: boolean
}

/** What a person may be shown: a code of one plain line, and links to pages; undefined where it is something else. */
export function whatIsShown(
  device: z.infer<typeof deviceSchema>,
  found: FoundCompany,
  allowHttp: boolean,
): DeviceShown | undefined {
  const { device_code, user_code, verification_uri, verification_uri_complete } = device
  // 4.6: the device code is private; a Company that writes it into what is shown isn't helped with it
  const isShowable = (text: string) => text.search(hiddenCharacter) < 0 && !text.includes(device_code)
  const pageOf = (text: string | undefined): URL | undefined => {
    const url = text === undefined ? null : URL.parse(text)
    if (!url || text === undefined || /\s/.test(text) || url.username !== '' || url.password !== '') return undefined
    const isWeb = url.protocol === 'https:' || (allowHttp && url.protocol === 'http:' && isLoopbackHost(url.hostname))
    return isWeb && isShowable(text) ? url : undefined
  }
  const page = pageOf(verification_uri)
  if (!isShowable(user_code) || user_code.trim() === '' || !page) return undefined
  // RFC 8628, 3.2: the same page with the code in it; a link that leads elsewhere is another one
  const isSamePage = pageOf(verification_uri_complete)?.origin === page.origin
  return {
    userCode: user_code,
    verificationUri: verification_uri,
    verificationUriComplete: isSamePage ? verification_uri_complete : undefined,
    isOwnPage: isOwn(page, found, allowHttp),
  }
}

/** At the issuer, which speaks for the domain (3.2), or at the domain or a subdomain of it. */
function isOwn(page: URL, { domain, discovery: { issuer } }: FoundCompany, allowHttp: boolean): boolean {
  if (issuer === undefined) return false
  return page.origin === new URL(issuer).origin || readReturnTo(page.href, domain, issuer, allowHttp) !== null
}
