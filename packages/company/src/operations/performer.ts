import { coversScopes } from '@poppyseed/protocol'
import type { FaultPoint } from '../faults/faults.ts'
import type { Logger, Scope } from '../store/database.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { forLog } from '../tools/run.ts'
import type { Outgoing } from '../webhooks/outgoing.ts'
import { insertDeliveries } from '../webhooks/store.ts'
import { agreementOf, type Entry, type StoredOperation } from './agreement.ts'
import type { Operation, WorkContext } from './definition.ts'
import { digestOf } from './digest.ts'
import type { Tells } from './hooks.ts'
import { isOutcome, type Outcome } from './outcome.ts'
import { outcomeJson } from './outcome-json.ts'
import { addToTrail, findOperation, finishOperation, startOperation, takeOver } from './store.ts'
import type { Changed } from './transition.ts'
import { type Ran, runWithin } from './within.ts'

/**
 * Does what was confirmed, at most once (Operations 6). That it is started is durable before `perform` is called; whoever
 * finds it started and without an outcome asks `reconcile`, and never performs it again, unless it is `repeatable`. Who
 * may write the outcome is a turn, compared and set: one that comes late changes nothing and is recorded.
 */

/** What performing needs. */
export interface PerformerOptions {
  readonly scope: () => Promise<Scope>
  readonly operations: ReadonlyMap<string, Operation>
  readonly tells: Tells
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
  readonly watch?: Telemetry['part']
  /** Aborts when the Company closes and waits no longer for what runs. */
  readonly givenUp: AbortSignal
  readonly at: (point: FaultPoint, operationId: string) => void | Promise<void>
  /** Told of each change of an operation, for whoever waits for one. */
  readonly changed: (operationId: string) => void
  /** What the company's own systems are told; null or left out where there are no webhooks. */
  readonly outgoing?: Outgoing | null
}

/** What came of one look at an operation's work. */
export type Look = 'done' | 'somebody_else' | 'no_definition' | 'not_known'

/** How an operation's work is attended to. */
export interface Attending {
  /** Whether its work was due, and taken from the outbox: only then is it asked what came of what was started. */
  readonly isDue: boolean
  /** The operation, where it was confirmed a moment ago: it needn't be read. What changed since shows when it is started. */
  readonly asConfirmed?: StoredOperation | undefined
}

/** See {@link createPerformer}. */
export interface Performer {
  /**
   * Performs what is confirmed and not started. What was started is left alone, unless its work is one that is due: then
   * it is asked what came of it.
   */
  readonly attend: (operationId: string, attending: Attending) => Promise<Look>
}

/** Milliseconds that an outcome may take to be written, after `perform` had its time. */
export const writeMargin = 5000

/** Milliseconds until something is tried again: a second after the first time, an hour at most. */
export function pauseAfter(tries: number): number {
  return Math.min(1000 * 2 ** Math.min(Math.max(tries - 1, 0), 20), 3_600_000)
}

const byWorker = { channel: 'worker', who: {} } as const satisfies Partial<Entry>

/** Makes the part that performs. */
export function createPerformer(options: PerformerOptions): Performer {
  const { now, log, at, changed } = options

  async function attend(id: string, { isDue, asConfirmed }: Attending): Promise<Look> {
    const scope = await options.scope()
    const stored = asConfirmed ?? (await findOperation(scope, id))
    if (stored === null || stored.operation.state !== 'in_progress') return 'done'
    const definition = options.operations.get(stored.operation.name)
    if (definition === undefined) return 'no_definition'
    // What isn't begun yet loses nothing; what was begun with nobody to wait for it would be unknown.
    if (options.givenUp.aborted) return 'somebody_else'
    if (stored.operation.turn === 0) return perform(scope, stored, definition)
    // Another instance was quicker, and is at it.
    return isDue ? reconcile(scope, stored, definition) : 'somebody_else'
  }

  async function perform(scope: Scope, stored: StoredOperation, definition: Operation): Promise<Look> {
    const { id } = stored.operation
    const objection = objectionTo(stored, definition)
    if (objection !== null) {
      log.error({ operation: id, objection }, 'a confirmed operation can not be performed')
      return write(scope, stored, 0, { outcome: 'failed', reason: objection })
    }
    const dueAt = now() + definition.performTimeout + writeMargin
    const started = await startOperation(scope, {
      id,
      turn: 0,
      now: now(),
      dueAt,
      entry: { event: 'started', ...byWorker, revision: stored.operation.confirmed_revision },
    })
    if (started === null) return 'somebody_else'
    await at('started', id)
    const ran = await run(scope, stored, definition, 'perform', 1)
    await at('performed', id)
    return conclude(scope, stored, started.turn, ran, { pause: pauseAfter(1) })
  }

  async function reconcile(scope: Scope, stored: StoredOperation, definition: Operation): Promise<Look> {
    const { id, turn, unknown_since: since } = stored.operation
    // Each try takes a turn, and gives it up when it ends without an outcome: two of them.
    const attempt = Math.ceil(turn / 2) + 1
    const taken = await takeFrom(scope, stored, 'no outcome in time', {
      turn,
      dueAt: now() + 2 * definition.performTimeout + writeMargin,
      ...(since === null ? { entry: { event: 'unknown', ...byWorker, detail: { why: 'no outcome in time' } } } : {}),
    })
    if (taken === null) return 'somebody_else'
    if (since === null) log.warn({ operation: id }, 'an operation was started and nobody wrote what came of it')
    changed(id)
    let ran: Ran<Outcome> = { how: 'returned', value: { outcome: 'unknown' } }
    if (definition.reconcile !== undefined) ran = await run(scope, stored, definition, 'reconcile', attempt)
    if (definition.repeatable && !isKnown(ran)) ran = await run(scope, stored, definition, 'perform', attempt)
    await at('reconciled', id)
    // Whoever began it may go by a slower clock, and be at it still: that nothing happened is believed of what is asked once
    // it has had its time by this clock as well.
    const isEarly = since === null && turn === 1 && isKnown(ran) && ran.value.outcome === 'failed'
    if (!isEarly) return conclude(scope, stored, taken.turn, ran, { pause: pauseAfter(attempt) })
    const notYet = { how: 'returned', value: { outcome: 'unknown' } } as const
    return conclude(scope, stored, taken.turn, notYet, { pause: definition.performTimeout + writeMargin })
  }

  /** Takes over; where that is how its outcome becomes unknown, the company's own systems are told in the same transaction. */
  async function takeFrom(
    scope: Scope,
    stored: StoredOperation,
    why: string,
    change: { readonly turn: number; readonly dueAt: number; readonly entry?: Entry },
  ): Promise<Changed | null> {
    const moment = now()
    const own = { ...change, id: stored.operation.id, now: moment }
    const told = change.entry?.event === 'unknown' ? (options.outgoing?.ofUnknown(stored, why, moment) ?? []) : []
    if (told.length === 0) return takeOver(scope, own)
    const taken = await scope.db.transaction(async () => {
      const changed = await takeOver(scope, own)
      if (changed !== null) await insertDeliveries(scope, told)
      return changed
    })
    options.outgoing?.poke()
    return taken
  }

  async function run(
    scope: Scope,
    stored: StoredOperation,
    definition: Operation,
    what: 'perform' | 'reconcile',
    attempt: number,
  ): Promise<Ran<Outcome>> {
    const { id } = stored.operation
    const agreement = agreementOf(stored)
    const call = async (signal: AbortSignal): Promise<Outcome> => {
      const context: WorkContext = Object.freeze({ key: id, signal, attempt })
      // Only what has a `reconcile` is reconciled.
      const answer: unknown = await (what === 'perform'
        ? definition.perform(agreement, context)
        : definition.reconcile?.(agreement, context))
      if (isOutcome<Outcome>(answer, ['succeeded', 'failed', 'unknown'])) return answer
      throw new TypeError(`${what} of ${definition.name} answered neither succeeded(…), failed(…) nor unknown().`)
    }
    const within = () =>
      runWithin<Outcome>(call, {
        time: definition.performTimeout,
        givenUp: options.givenUp,
        late: (ended) => void noteLate(scope, stored, what, ended),
      })
    const part = { name: `${what} ${definition.name}`, attributes: { 'poppy.operation.name': definition.name } }
    return (await options.watch?.(part, within)) ?? within()
  }

  async function conclude(
    scope: Scope,
    stored: StoredOperation,
    turn: number,
    ran: Ran<Outcome>,
    { pause }: { readonly pause: number },
  ): Promise<Look> {
    const { id, name } = stored.operation
    if (isKnown(ran)) return write(scope, stored, turn, ran.value)
    if (ran.how === 'threw') log.error({ operation: id, name, error: forLog(ran.error) }, 'an operation threw')
    else if (ran.how !== 'returned') log.warn({ operation: id, name, how: ran.how }, 'an operation was given up')
    const why = ran.how === 'returned' ? 'unknown' : ran.how
    // Later answers of this turn are too late from here on.
    const isNew = stored.operation.unknown_since === null && turn === 1
    const taken = await takeFrom(scope, stored, why, {
      turn,
      dueAt: now() + pause,
      ...(isNew ? { entry: { event: 'unknown', ...byWorker, detail: { why } } } : {}),
    })
    if (taken === null) return 'somebody_else'
    changed(id)
    return 'not_known'
  }

  async function write(
    scope: Scope,
    stored: StoredOperation,
    turn: number,
    outcome: Exclude<Outcome, { readonly outcome: 'unknown' }>,
  ): Promise<Look> {
    const { id, name } = stored.operation
    const result = outcomeJson(outcome, (why) => log.error({ operation: id, name }, why))
    const change = {
      id,
      turn,
      state: outcome.outcome,
      result,
      entry: { event: outcome.outcome, ...byWorker, revision: stored.operation.confirmed_revision },
      tells: options.tells(outcome.outcome),
    } as const
    // A database that restarts is soon there again, and nobody else knows what came of it.
    const isWritten = await persistently(
      async (tries) => {
        if ((await finishOperation(scope, { ...change, now: now() })) !== null) return true
        // Its answer may have been lost, and not the change.
        const left = tries === 1 ? null : await findOperation(scope, id)
        return left?.operation.turn === turn + 1 && left.operation.state === change.state
      },
      (error) => log.warn({ operation: id, error: forLog(error) }, 'an outcome could not be written; tried again'),
    )
    if (!isWritten) {
      await noteLate(scope, stored, 'perform', { how: 'returned', value: outcome })
      return 'somebody_else'
    }
    await at('finished', id)
    changed(id)
    return 'done'
  }

  /** What comes after somebody else had the turn is kept for whoever settles it. */
  async function noteLate(scope: Scope, { operation }: StoredOperation, what: string, ended: Ran<Outcome>) {
    const { id } = operation
    try {
      const detail =
        ended.how === 'returned'
          ? { what, outcome: ended.value.outcome, result: lateResult(ended.value) }
          : { what, outcome: ended.how }
      if (ended.how === 'threw') log.warn({ operation: id, error: forLog(ended.error) }, 'an operation threw late')
      await addToTrail(scope, { id, now: now(), entry: { event: 'late_outcome', ...byWorker, detail } })
    } catch (error) {
      log.error({ operation: id, error: forLog(error) }, 'a late outcome could not be recorded')
    }
  }

  function lateResult(outcome: Outcome): unknown {
    if (outcome.outcome === 'unknown') return null
    return JSON.parse(outcomeJson(outcome, (why) => log.error({}, why)) ?? 'null')
  }

  return { attend }
}

/** Milliseconds between tries to write an outcome: together well within the margin that it has. */
const writePauses = [100, 400, 1600]

/** Does something again where it throws; the last error is thrown. */
async function persistently<T>(work: (tries: number) => Promise<T>, failed: (error: unknown) => void): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work(tries)
    } catch (error) {
      const pause = writePauses[tries - 1]
      if (pause === undefined) throw error
      failed(error)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

type Known = Exclude<Outcome, { readonly outcome: 'unknown' }>

function isKnown(ran: Ran<Outcome>): ran is { readonly how: 'returned'; readonly value: Known } {
  return ran.how === 'returned' && ran.value.outcome !== 'unknown'
}

/** Why what was confirmed must not be done, in words for the person; certainly nothing of it happened yet. */
function objectionTo({ operation, revision }: StoredOperation, definition: Operation): string | null {
  // What is done is what was confirmed, to the letter.
  if (operation.confirmed_revision !== revision.revision || digestOf(revision) !== revision.digest)
    return 'The terms are no longer those that were confirmed.'
  // What the action needs may have grown since it was confirmed; what was given for it doesn't.
  const had = operation.confirmed_scopes === '' ? [] : (operation.confirmed_scopes ?? '').split(' ')
  if (!coversScopes(had, definition.scopes)) return 'The rights that it was confirmed with no longer suffice.'
  if (definition.scopes.length > 0 && operation.account === null) return 'It needs an account that it does not have.'
  return null
}
