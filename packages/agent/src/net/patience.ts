import { AgentError } from '../errors.ts'
import { dateOf } from './clocks.ts'
import type { KeptLimits } from './limits.ts'
import { readRetryAfter } from './retry-after.ts'

/** Rate limits (4.3): after a 429 the same request is not sent again before the time that the Company named. */

/** Clock and bound of the waiting. */
export interface PatienceOptions {
  /** Unix time in milliseconds. */
  readonly now: () => number
  readonly wait: (milliseconds: number, signal?: AbortSignal) => Promise<void>
  /** The longest that one call waits, in seconds, all its waits together. Longer is reported instead. */
  readonly maxWaitSeconds: number
  /** What other processes and earlier runs were asked to wait for. */
  readonly kept: KeptLimits
}

/** Sends a request, waiting where the Company says so. `attempt` makes a fresh request each time: new proof, new `jti`. */
export type Patience = (
  request: {
    readonly method: string
    readonly url: string
    readonly signal?: AbortSignal | undefined
    /** False where it can't be sent twice: what would have to wait is reported. */
    readonly mayWait?: boolean
  },
  attempt: () => Promise<Response>,
) => Promise<Response>

const maxRemembered = 1000

/** Waits out 429 (4.3): no request goes again before its time, and what would take too long is `rate_limited`. */
export function createPatience(options: PatienceOptions): Patience {
  const { now, wait, maxWaitSeconds, kept } = options
  /** Until when a request may not be sent again, in milliseconds. */
  const notBefore = new Map<string, number>()

  return async ({ method, url, signal, mayWait = true }, attempt) => {
    const key = `${method} ${url}`
    let waited = 0
    for (;;) {
      const until = Math.max(notBefore.get(key) ?? 0, await kept.until(key))
      let seconds = Math.ceil((until - now()) / 1000)
      if (seconds <= 0) {
        notBefore.delete(key)
        const response = await attempt()
        if (response.status !== 429) return response
        await response.body?.cancel()
        seconds = readRetryAfter(response.headers.get('retry-after'), dateOf(response) ?? now())
        notBefore.set(key, now() + seconds * 1000)
        await kept.keep(key, now() + seconds * 1000)
        const oldest = notBefore.keys().next()
        if (notBefore.size > maxRemembered && !oldest.done) notBefore.delete(oldest.value)
      }
      if (!mayWait || waited + seconds > maxWaitSeconds) {
        throw new AgentError(
          'rate_limited',
          `${new URL(url).host} asks to wait ${spoken(seconds)} before the next request.`,
          {
            retryAfter: seconds,
            status: 429,
          },
        )
      }
      await wait(seconds * 1000, signal)
      waited += seconds
    }
  }
}

function spoken(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  return seconds < 7200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`
}
