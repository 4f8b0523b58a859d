import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'
import type { CookieSettings } from './cookie.ts'

/** What a company may set for browsers of Personal Agents (5). */
export interface BrowserSettings {
  /**
   * The cookie's name; left out, `__Host-poppy`, or `__Secure-poppy` with a domain. Not the site's own: both may come
   * with one request, and the agent's wins.
   */
  readonly cookie?: string
  /** A domain of the Company's whose subdomains get the cookie too, such as `'miramar.example'`. Left out: the origin's host alone. */
  readonly cookieDomain?: string
  /** `'Lax'` when left out; `'None'` where the site is shown inside of others. */
  readonly sameSite?: 'Lax' | 'None'
  /** Seconds for which a browser stays joined at most: 12 hours when left out. Never longer than its Session. */
  readonly lifetime?: number
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkBrowser(
  setting: true | BrowserSettings | undefined,
  company: { readonly domains: readonly string[]; readonly host: string },
): CookieSettings | null {
  if (setting === undefined) return null
  if (setting !== true && !isPlain(setting))
    throw wrong('`browser` is true, or what differs from the standard, such as browser: { lifetime: 3600 }.')
  const settings: BrowserSettings = setting === true ? {} : setting
  refuseUnknown('browser', settings, ['cookie', 'cookieDomain', 'sameSite', 'lifetime'])
  const { cookieDomain: domain, sameSite = 'Lax', lifetime = 12 * 3600 } = settings
  if (domain !== undefined) {
    const covers = (name: string) => name === domain || name.endsWith(`.${domain}`)
    if (typeof domain !== 'string' || !company.domains.some((own) => own === domain || domain.endsWith(`.${own}`)))
      throw wrong(
        `\`browser.cookieDomain\` is one of your domains or a subdomain of one: ${company.domains.join(', ')}.`,
      )
    if (!covers(company.host))
      throw wrong(`\`browser.cookieDomain\` has to cover the origin's host, ${company.host}: else no browser keeps it.`)
  }
  if (sameSite !== 'Lax' && sameSite !== 'None')
    throw wrong(
      "`browser.sameSite` is 'Lax' or 'None'. With 'Strict' the browser would not send the cookie after the agent's form (5).",
    )
  if (!Number.isInteger(lifetime) || lifetime < 60 || lifetime > 30 * 86_400)
    throw wrong('`browser.lifetime` is a whole number of seconds from 60 to 2592000.')
  const name = settings.cookie ?? (domain === undefined ? '__Host-poppy' : '__Secure-poppy')
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw wrong("`browser.cookie` is a name of letters, digits, '-' and '_', such as 'miramar_agent'.")
  if (domain !== undefined && name.toLowerCase().startsWith('__host-'))
    throw wrong('`browser.cookie` may not begin with __Host- where `browser.cookieDomain` is set: browsers refuse it.')
  return { name, domain, sameSite, lifetime: lifetime * 1000 }
}
