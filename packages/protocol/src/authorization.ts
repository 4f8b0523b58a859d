/** The `Authorization` header with a token (4.3, RFC 9110, 11.4). */

/** Scheme and token of a request. */
export interface Authorization {
  /** In lower case: a scheme means the same in any case (RFC 9110, 11.1). */
  readonly scheme: string
  readonly token: string
}

/**
 * Reads an `Authorization` header of one scheme and one token.
 * @param header as `Headers.get` gives it: two header lines arrive joined by a comma, which no token has
 * @returns null when there is no header, `'malformed'` when it is not one scheme and one token; never take that for "no token"
 */
export function parseAuthorization(header: string | null | undefined): Authorization | 'malformed' | null {
  if (header === null || header === undefined) return null
  const match = /^([A-Za-z][A-Za-z0-9-]*) +([A-Za-z0-9\-._~+/]+=*)$/.exec(header)
  return match?.[1] && match[2] ? { scheme: match[1].toLowerCase(), token: match[2] } : 'malformed'
}
