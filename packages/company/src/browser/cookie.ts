/** Section 5: the cookie that joins an agent's browser to its Session. Pure. */

/** How the cookie is written. */
export interface CookieSettings {
  readonly name: string
  /** The domain whose subdomains get it too; undefined for this host alone. */
  readonly domain: string | undefined
  readonly sameSite: 'Lax' | 'None'
  /** Milliseconds at most; it never outlives its Session. */
  readonly lifetime: number
}

/**
 * Writes `Set-Cookie` (5): Secure and HttpOnly always, and never SameSite=Strict, with which the browser wouldn't send it
 * when it follows the redirect.
 * @param seconds whole seconds for which the browser keeps it
 */
export function writeCookie(settings: CookieSettings, value: string, seconds: number): string {
  const parts = [`${settings.name}=${value}`, 'Path=/', `Max-Age=${seconds}`]
  if (settings.domain !== undefined) parts.push(`Domain=${settings.domain}`)
  return [...parts, 'Secure', 'HttpOnly', `SameSite=${settings.sameSite}`].join('; ')
}

/** Cookies of our name that are looked at in one request. A browser has one, or two where the company changed its domain. */
const mostCookies = 4

/**
 * The cookie's values in a request, each once: those that can be ours. A subdomain may set others of the same name for the
 * whole domain, so there may be several, and which of them opens something is for the store to say. Where there are more
 * than any browser of ours has, none counts.
 */
export function readCookies(request: Request, name: string): readonly string[] {
  const found = cookiesOf(request, name)
  return found.size <= mostCookies ? [...found] : []
}

/** Whether a request has more cookies of the name than any browser of ours: somebody wants the right one not to be seen. */
export function isFlooded(request: Request, name: string): boolean {
  return cookiesOf(request, name).size > mostCookies
}

function cookiesOf(request: Request, name: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals <= 0 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    if (/^[A-Za-z0-9_-]{43}$/.test(value)) found.add(value)
  }
  return found
}
