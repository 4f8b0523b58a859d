/** Which published URLs may be used (3.1, 3.2, 4.1): one rule for every document. */

/**
 * Whether a published URL may be used: HTTPS, at most 2,048 characters, no credentials, no fragment, nothing that two
 * parsers could read in two ways; `http:` on a loopback host where development says so.
 */
export function isServiceUrl(value: string, allowHttp = false): boolean {
  return parseServiceUrl(value, allowHttp) !== null
}

/** Whether a host name is this machine's own: `localhost`, `127.0.0.1` or `[::1]`, or a name under `.localhost`. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || hostname === '127.0.0.1'
}

/** Parses a URL that {@link isServiceUrl} would pass, or gives null. */
export function parseServiceUrl(value: string, allowHttp: boolean): URL | null {
  // Parsers drop tabs, line breaks and spaces at the ends, and take "\" for "/": whoever compares strings sees another URL.
  if (value.length > 2048 || /[\s\\#\p{Cc}]/u.test(value)) return null
  // An empty user name or port leaves no trace in a parsed URL.
  if (!/^https?:\/\/[^/?@]*[^/?@:](?:[/?]|$)/i.test(value)) return null
  try {
    const url = new URL(value)
    // Parsers take ";", "'" and "*" in a name; in a security policy, a shell or a certificate they say something else.
    if (!/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(url.hostname)) return null
    if (url.protocol === 'https:') return url
    return allowHttp && isLoopbackHost(url.hostname) ? url : null
  } catch {
    return null
  }
}
