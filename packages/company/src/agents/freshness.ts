/** How long a fetched document may be used, by its HTTP caching headers (RFC 9111), within bounds of ours. */

/** Bounds, in milliseconds. */
export interface FreshnessBounds {
  readonly minFresh: number
  readonly maxFresh: number
  /** When the headers say nothing. */
  readonly defaultFresh: number
}

/** Milliseconds for which a document is fresh, counted from its arrival. */
export function readFreshness(headers: Headers, { minFresh, maxFresh, defaultFresh }: FreshnessBounds): number {
  const stated = statedFreshness(headers)
  return stated === undefined ? defaultFresh : Math.min(Math.max(stated, minFresh), maxFresh)
}

function statedFreshness(headers: Headers): number | undefined {
  const directives = (headers.get('cache-control') ?? '')
    .toLowerCase()
    .split(',')
    .map((directive) => directive.trim())
  if (directives.some((directive) => /^no-(?:store|cache)(?:=|$)/.test(directive))) return 0
  const age = seconds(headers.get('age')) ?? 0
  const maxAge = directives.find((directive) => directive.startsWith('max-age'))
  if (maxAge !== undefined) {
    // RFC 9111, 4.2.1: what can't be read counts as stale.
    return ((seconds(maxAge.slice('max-age='.length).replace(/^"(.*)"$/, '$1')) ?? 0) - age) * 1000
  }
  const expires = headers.get('expires')
  if (expires === null) return undefined
  // Against the sender's own clock; without its Date there is nothing to count from.
  const lifetime = Date.parse(expires) - Date.parse(headers.get('date') ?? '')
  return Number.isFinite(lifetime) ? lifetime - age * 1000 : 0
}

function seconds(text: string | null): number | undefined {
  return text !== null && /^\d{1,10}$/.test(text.trim()) ? Number(text) : undefined
}
