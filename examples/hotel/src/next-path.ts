const MAX_LENGTH = 4096

// One slash, then neither a slash nor a backslash; printable ASCII only, and no backslash anywhere: browsers read
// `\` as `/`, and drop tabs and line ends, so each of those can turn a path into another site's address.
const LOCAL_PATH = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/

/** Where to go after signing in: `next` if it is a path on this site, else `otherwise`. */
export function localPath(next: string | null | undefined, otherwise: string): string {
  if (!next || next.length > MAX_LENGTH || !LOCAL_PATH.test(next)) return otherwise
  const base = 'https://hotel.invalid'
  return URL.canParse(next, base) && new URL(next, base).origin === base ? next : otherwise
}
