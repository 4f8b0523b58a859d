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

/**
 * The cookie's value in a request, null when it isn't there, and `'unclear'` when it is there twice or isn't one of ours:
 * then nobody can say whose request it is.
 */
export function readCookie(request: Request, name: string): string | null | 'unclear' {
  const header = request.headers.get('cookie')
  if (header === null) return null
  const found: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) found.push(pair.slice(equals + 1).trim())
  }
  const [value] = found
  if (value === undefined) return null
  return found.length === 1 && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : 'unclear'
}
