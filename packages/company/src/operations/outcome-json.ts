import type { Outcome } from './outcome.ts'

/** Bytes of JSON that a result may have. */
const mostBytes = 65_536

/**
 * An outcome's result as it is kept and told. What can't be told is left out, and `complain` hears of it: that something
 * happened is no less true because its details aren't JSON.
 */
export function outcomeJson(
  outcome: Exclude<Outcome, { readonly outcome: 'unknown' }>,
  complain: (why: string) => void,
): string | null {
  if (outcome.outcome === 'failed') return JSON.stringify({ reason: outcome.reason.slice(0, 2000) })
  if (outcome.result === null || outcome.result === undefined) return null
  try {
    const json: string | undefined = JSON.stringify(outcome.result)
    if (json !== undefined && Buffer.byteLength(json) <= mostBytes && !json.includes('\\u0000')) return json
    complain(`the result of an operation is left out: it has to be JSON of at most ${mostBytes} bytes`)
  } catch {
    complain('the result of an operation is left out: it has to be JSON')
  }
  return null
}
