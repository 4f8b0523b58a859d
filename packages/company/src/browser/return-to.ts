/** Section 5: which page may be opened after a browser joined. Pure. */

/** The Company's own addresses, as the configuration has them. */
export interface OwnPages {
  /** The origin; its port is the one beside the default that a page may have. */
  readonly origin: string
  /** Bare host names; each covers its subdomains. */
  readonly domains: readonly string[]
}

/**
 * The address to send the browser on to, or null when it isn't one of the Company's pages: HTTPS (or what the origin
 * itself is, in development), on one of its domains or a subdomain, without a user part, at the default port or the
 * origin's own.
 */
export function readReturnTo(value: string, own: OwnPages): string | null {
  // Browsers drop tabs and line breaks and take "\" for "/": whoever compares the text sees another address.
  if (value.length > 2048 || /[\s\\\p{Cc}\p{Cs}]/u.test(value)) return null
  // A parsed URL shows neither an empty user part nor missing slashes.
  if (!/^https?:\/\/[^/?#@\\]+(?:[/?#]|$)/i.test(value)) return null
  if (!URL.canParse(value)) return null
  const url = new URL(value)
  const origin = new URL(own.origin)
  if (url.username !== '' || url.password !== '') return null
  if (url.protocol !== 'https:' && url.origin !== origin.origin) return null
  if (url.hostname.startsWith('.') || url.hostname.includes('..')) return null
  if (url.port !== '' && url.port !== origin.port) return null
  const isOwn = own.domains.some((domain) => url.hostname === domain || url.hostname.endsWith(`.${domain}`))
  return isOwn || url.hostname === origin.hostname ? url.href : null
}
