import { isLoopbackHost } from '@poppyseed/protocol'

/**
 * Which page calls the MCP server (6). MCP's transport wants `Origin` checked, against DNS rebinding: a page on
 * `evil.example` whose name was made to lead to us. The check of hosts refuses that name in `Host`; this one sees it where a
 * proxy has put another name there.
 */

/**
 * Whether a request may come from where it says. A page that calls us across sites by our own name is not refused: that is
 * how MCP clients in browsers work, and no browser adds a Bearer token by itself. A page whose browser says that it and the
 * server are one site has to be one of ours.
 * @param names host names without port, IPv6 in brackets
 */
export function isWelcomePage(request: Request, names: readonly string[]): boolean {
  const origin = request.headers.get('origin')
  // Files and sandboxed frames have no name at all, so none that leads here.
  if (origin === null || origin === 'null') return true
  const name = nameOf(origin)
  if (name === null) return false
  return names.includes(name) || isLoopbackHost(name) || request.headers.get('sec-fetch-site') !== 'same-origin'
}

/** The host name in an `Origin`; null for what is none. */
function nameOf(origin: string): string | null {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s,]+$/i.test(origin)) return null
  try {
    return new URL(origin).hostname.toLowerCase()
  } catch {
    return null
  }
}
