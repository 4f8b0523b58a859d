/** Names and versions of extensions (3.3), the same for both sides. */

const host = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const name = new RegExp(`^((?:${host}\\.)*${host})(?:/[A-Za-z0-9][A-Za-z0-9._~-]{0,99})+$`)

/**
 * The domain that the name of an extension begins with, such as `example.com` of `example.com/gift-wrap`. Null for a plain
 * name, which is the protocol's own, and for what is no name.
 */
export function extensionDomain(extension: string): string | null {
  if (extension.length > 300) return null
  return name.exec(extension)?.[1] ?? null
}

/** A major version as it travels: `1` and `'1'` are `'1'`; null for anything that is no whole number from 1 up. */
export function extensionVersion(version: unknown): string | null {
  const text = typeof version === 'number' ? String(version) : version
  return typeof text === 'string' && /^[1-9][0-9]{0,5}$/.test(text) ? text : null
}
