/** Scopes (4.4): a space-separated string on the wire, a list without repeats inside. */

/** The two scopes of the protocol itself (4.4). They are independent of each other. */
export const protocolScopes = ['poppy:read', 'poppy:write'] as const

// RFC 6749, 3.3: printable ASCII without space, quote and backslash
const token = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/

/** Whether a string is one scope in OAuth's syntax. */
export function isScope(value: string): boolean {
  return token.test(value)
}

/**
 * Reads a `scope` parameter.
 * @returns the scopes without repeats in the order given, or null when the syntax is wrong
 */
export function parseScope(value: string): readonly string[] | null {
  if (value === '') return []
  const scopes = value.split(' ')
  if (scopes.length > 100 || !scopes.every(isScope)) return null
  return [...new Set(scopes)]
}

/** Writes scopes for the wire; none is the empty string. */
export function formatScope(scopes: readonly string[]): string {
  return scopes.join(' ')
}

/** The scopes of `left` that `right` has too, in the order of `left`. */
export function intersectScopes(left: readonly string[], right: readonly string[]): readonly string[] {
  return left.filter((scope) => right.includes(scope))
}

/** Whether `have` holds every one of `need`. */
export function coversScopes(have: readonly string[], need: readonly string[]): boolean {
  return need.every((scope) => have.includes(scope))
}
