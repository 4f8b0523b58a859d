/** Seconds to wait where a 429 says nothing that can be read. */
const unsaid = 10

/**
 * Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date.
 * @param now Unix time in milliseconds, by the clock of whoever answered where it says what that is
 * @returns whole seconds, at least 1
 */
export function readRetryAfter(value: string | null, now: number): number {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Math.max(1, Number(text))
  // A date begins with the name of a day; Date.parse alone would read "-1" as a year.
  if (!/^[A-Za-z]{3,9}, ?/.test(text)) return unsaid
  const date = Date.parse(text)
  return Number.isFinite(date) ? Math.max(1, Math.ceil((date - now) / 1000)) : unsaid
}
