import { isFinalState } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import type { OperationCopy } from './copy.ts'
import { type OperationParts, readAtCompany } from './desk.ts'

/** Following an operation by asking again and again, within bounds (Operations 6). */

/** How long, and what for. */
export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  /** How long at most, in seconds. */
  readonly seconds: number
  /** Told of each copy that came. */
  readonly heard: (copy: OperationCopy) => Promise<void>
  /** Ends it; a final state does so anyway. */
  readonly isEnough?: (copy: OperationCopy) => boolean
}

/** Milliseconds between two questions: at first, and at most. */
const firstPause = 1000
const longestPause = 30_000

/** What a later answer may mend. */
const passing: ReadonlySet<string> = new Set(['unreachable', 'company_error', 'rate_limited', 'store_busy'])

/**
 * Asks until the operation has ended or the time is over; then it is given as it is, which may be `in_progress`: not known
 * yet. Pauses grow, and are as long as the Company says (`Retry-After`) where that is longer.
 * @throws AgentError where nothing was heard in all that time, or what was heard won't change
 */
export async function follow(parts: OperationParts, id: string, options: FollowOptions): Promise<OperationCopy> {
  const { now, wait } = parts.context
  const end = now() + options.seconds * 1000
  let last: OperationCopy | undefined
  for (let pause = firstPause; ; pause = Math.min(pause * 1.5, longestPause)) {
    let asked = 0
    let failure: AgentError | undefined
    try {
      const answer = await readAtCompany(parts, id, options.signal)
      last = answer.copy
      asked = answer.pause ?? 0
      await options.heard(last)
      if (isFinalState(last.wire.state) || options.isEnough?.(last)) return last
    } catch (error) {
      if (!(error instanceof AgentError) || !passing.has(error.code)) throw error
      failure = error
      asked = (error.retryAfter ?? 0) * 1000
    }
    const next = Math.max(pause, asked)
    if (now() + next > end) {
      if (last) return last
      throw failure ?? new AgentError('unreachable', 'Nothing was heard of the operation.')
    }
    await wait(Math.round(next), options.signal)
  }
}
