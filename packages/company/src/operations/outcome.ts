import { isPlain } from '../config-shapes.ts'

/** How a company's code tells what came of an operation (Operations 6). */

/** It happened. */
export interface Succeeded {
  readonly outcome: 'succeeded'
  readonly result: unknown
}

/** It certainly did not happen, not even in part. */
export interface Failed {
  readonly outcome: 'failed'
  readonly reason: string
}

/** Nobody can say yet whether it happened. */
export interface Unknown {
  readonly outcome: 'unknown'
}

/** It was stopped, and certainly nothing of it happened or is left. */
export interface Cancelled {
  readonly outcome: 'cancelled'
  readonly reason: string | undefined
}

/** It can't be stopped any more. */
export interface TooLate {
  readonly outcome: 'too_late'
}

/** What `perform` and `reconcile` may answer. */
export type Outcome = Succeeded | Failed | Unknown

/** What `cancel` may answer. */
export type CancelOutcome = Cancelled | TooLate | Unknown

const made = new WeakSet<object>()

function make<T extends object>(outcome: T): T {
  made.add(Object.freeze(outcome))
  return outcome
}

/**
 * It happened. `result` is told to the Personal Agent, JSON that says what was done: with partial effects, what of it
 * happened and what did not (Operations 6).
 */
export function succeeded(result: unknown = null): Succeeded {
  return make({ outcome: 'succeeded', result })
}

/**
 * It certainly did not happen, and nothing of it is left: only then. `reason` is a sentence for the person, such as
 * "The room was taken meanwhile."
 * @throws TypeError where it isn't one
 */
export function failed(reason: string): Failed {
  if (typeof reason !== 'string' || reason.trim() === '')
    throw new TypeError(
      "Say why it did not happen, in a sentence for the person: failed('The room was taken meanwhile.').",
    )
  return make({ outcome: 'failed', reason })
}

/** Nobody can say yet: the operation stays in progress, and `reconcile` is asked again later. */
export function unknown(): Unknown {
  return make({ outcome: 'unknown' })
}

/** It was stopped, and certainly nothing of it is left. `reason` is a sentence for the person. */
export function cancelled(reason?: string): Cancelled {
  return make({ outcome: 'cancelled', reason })
}

/** It can't be stopped any more: it goes on as if nobody had asked. */
export function tooLate(): TooLate {
  return make({ outcome: 'too_late' })
}

/** Whether a value came from one of the functions above, and is one of those that are allowed here. */
export function isOutcome<T extends Outcome | CancelOutcome>(
  value: unknown,
  allowed: readonly T['outcome'][],
): value is T {
  return isPlain(value) && made.has(value) && allowed.some((one) => one === value.outcome)
}
