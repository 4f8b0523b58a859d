import { AgentError } from '../errors.ts'

/**
 * The time as each Company has it. What this agent signs says when it was made, and a Company takes only what was made
 * about now: an agent whose own clock is wrong would be refused everywhere, for ever.
 *
 * The time is learned from the `Date` of an answer, and only of one that refused what was signed: whoever takes our time
 * has no need to teach another. It is kept for that issuer at that origin alone, and used for nothing but what is signed
 * for it: when a token expires is told by our own clock.
 */

/** How the time of a Company is found and learned. */
export interface Clocks {
  /** Unix time in milliseconds as the Company has it at this address, as far as it was learned. */
  readonly at: (issuer: string, url: string) => number
  /**
   * Learns from an answer that refused what was signed.
   * @returns whether there was something to learn, so that another attempt is worth it
   * @throws AgentError `clock_differs` where the Company's time is further ahead than may be followed
   */
  readonly learn: (issuer: string, url: string, response: Response) => boolean
}

/**
 * How far ahead of our own clock a Company is followed. What is signed for later can be kept until then by whoever saw
 * it, be it at the Company itself: so it is bounded to what a wrong hour of a clock needs.
 */
const furthestAhead = 2 * 60 * 60 * 1000
/** How far behind. What is signed for the past is of no use to anybody later; the bound keeps nonsense away. */
const furthestBehind = 48 * 60 * 60 * 1000

/** `Date` has whole seconds, and an answer takes time: smaller differences than these teach nothing. */
const noticedAhead = 1000
const noticedBehind = 2000
const maxRemembered = 1000

/** Makes the clocks. `now` is our own, Unix time in milliseconds. */
export function createClocks(now: () => number): Clocks {
  const offsets = new Map<string, number>()
  const keyOf = (issuer: string, url: string) => `${issuer} ${new URL(url).origin}`
  return {
    at: (issuer, url) => now() + (offsets.get(keyOf(issuer, url)) ?? 0),
    learn: (issuer, url, response) => {
      const date = dateOf(response)
      if (date === undefined) return false
      const key = keyOf(issuer, url)
      const offset = date - now()
      const difference = offset - (offsets.get(key) ?? 0)
      if (difference < noticedAhead && difference > -noticedBehind) return false
      if (offset > furthestAhead || offset < -furthestBehind) {
        throw new AgentError(
          'clock_differs',
          `${new URL(url).host} refused what was signed, and its clock is ${spoken(offset)} this machine's, which is too far to follow. Set this machine's clock if it is wrong.`,
          { status: response.status },
        )
      }
      offsets.delete(key)
      offsets.set(key, offset)
      const oldest = offsets.keys().next()
      if (offsets.size > maxRemembered && !oldest.done) offsets.delete(oldest.value)
      return true
    },
  }
}

/** When an answer was made, by its own account; undefined without a date, or where it comes from a cache. */
export function dateOf(response: Response): number | undefined {
  const text = response.headers.get('date') ?? ''
  // A date begins with the name of a day; Date.parse alone would take almost anything.
  if (!/^[A-Za-z]{3,9}, ?/.test(text) || Number(response.headers.get('age') ?? 0) !== 0) return undefined
  const date = Date.parse(text)
  return Number.isFinite(date) ? date : undefined
}

function spoken(offset: number): string {
  const hours = Math.round(Math.abs(offset) / 3_600_000)
  const amount = hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`
  return `${amount} ${offset > 0 ? 'ahead of' : 'behind'}`
}
