import { isLoopbackHost } from '@poppyseed/protocol'

/** Section 5: which page a browser may be sent to after it joined. Pure. */

/**
 * The address as it goes into the assertion, or null where it is not the Company's: HTTPS, on `organization.domain` or a
 * subdomain of it, at the default port or the endpoint's own, without a user part.
 * @param domain `organization.domain`
 * @param endpoint the Company's `web.browser_session_endpoint`
 * @param allowHttp development only: plain HTTP on this machine
 */
export function readReturnTo(value: string, domain: string, endpoint: string, allowHttp: boolean): string | null {
  // Browsers drop tabs and line breaks and take "\" for "/": whoever compares the text sees another address.
  if (value.length > 2048 || /[\s\\\p{Cc}\p{Cs}]/u.test(value)) return null
  // A parsed URL shows neither an empty user part nor missing slashes.
  if (!/^https?:\/\/[^/?#@\\]+(?:[/?#]|$)/i.test(value)) return null
  const url = URL.parse(value)
  const own = URL.parse(`https://${domain}`)
  if (!url || !own || url.username !== '' || url.password !== '') return null
  const isLocal = allowHttp && url.protocol === 'http:' && isLoopbackHost(url.hostname)
  if (url.protocol !== 'https:' && !isLocal) return null
  if (url.hostname.startsWith('.') || url.hostname.includes('..')) return null
  if (url.hostname !== own.hostname && !url.hostname.endsWith(`.${own.hostname}`)) return null
  if (url.port !== '' && ![own.port, new URL(endpoint).port].includes(url.port)) return null
  return url.href
}
