/** How long an answer may be kept, by its HTTP caching headers (RFC 9111); a private cache. Times in milliseconds. */

const longest = 24 * 60 * 60 * 1000
/** Kept for a short while where the headers say nothing. */
const unsaid = 60 * 1000

/** Milliseconds for which the answer is fresh; 0 means: ask again each time. */
export function freshFor(headers: Headers, now: number): number {
  const directives = new Map(
    (headers.get('cache-control') ?? '').split(',').map((part) => {
      const [name = '', value = ''] = part.trim().split('=', 2)
      return [name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, '')] as const
    }),
  )
  if (directives.has('no-store') || directives.has('no-cache')) return 0
  const age = Number(headers.get('age') ?? 0) * 1000 || 0
  const maxAge = directives.get('max-age')
  if (maxAge !== undefined) {
    return /^\d{1,10}$/.test(maxAge) ? bounded(Number(maxAge) * 1000 - age) : 0
  }
  const expires = headers.get('expires')
  // RFC 9111, 4.2.1: counted from the answer's own date, so that a clock that is wrong here changes nothing
  const date = Date.parse(headers.get('date') ?? '')
  if (expires !== null) return bounded(Date.parse(expires) - (Number.isFinite(date) ? date : now) - age)
  return unsaid
}

/** Whether the answer may be kept at all, to be asked for again with its `ETag`. */
export function mayKeep(headers: Headers): boolean {
  return !/(^|[\s,])no-store($|[\s,;])/i.test(headers.get('cache-control') ?? '')
}

/** Whether it may never be used without asking, not even when nobody answers. */
export function mustAsk(headers: Headers): boolean {
  return /(^|[\s,])(must-revalidate|no-cache|no-store)($|[\s,;=])/i.test(headers.get('cache-control') ?? '')
}

function bounded(milliseconds: number): number {
  return Number.isFinite(milliseconds) ? Math.min(Math.max(milliseconds, 0), longest) : 0
}
