import { claimWork, deleteWork, dueWork, putOffWork, type Work } from '../outbox/store.ts'
import type { Scope } from '../store/database.ts'
import { forLog } from '../tools/run.ts'
import { agreementOf, type StoredOperation } from './agreement.ts'
import { hookNameOf, isNews, type OperationHooks, type OperationNews } from './hooks.ts'
import { type CancelOutcome, isOutcome } from './outcome.ts'
import { createPerformer, type PerformerOptions, pauseAfter, writeMargin } from './performer.ts'
import {
  addToTrail,
  expiredOperations,
  expireOperation,
  findOperation,
  finishCancelled,
  revisionOfEntry,
} from './store.ts'
import { viewOf } from './view.ts'
import { runWithin } from './within.ts'

/** The durable work of operations: what is confirmed is begun at once, and what was left lying is found and gone on with. */

/** What the worker needs. */
export interface WorkerOptions extends PerformerOptions {
  readonly hooks: OperationHooks
  /** Tells the conversation that an operation was proposed in; left out or null where there are none. */
  readonly news?: OperationNews | null
  /** Has the end of the Company wait for something. */
  readonly track: <T>(work: Promise<T>) => Promise<T>
}

/** See {@link createWorker}. */
export interface OperationWorker {
  /** Begins what was confirmed a moment ago, without making anybody wait for it. */
  readonly poke: (operationId: string, asConfirmed?: StoredOperation) => void
  /** Looks after what is due, in a bounded piece. */
  readonly sweep: (limit?: number) => Promise<Swept>
  /** Begins nothing more; what runs goes on. */
  readonly stop: () => void
}

/** What a sweep did. */
export interface Swept {
  readonly done: number
  /** Whether nothing was due any more. */
  readonly isDone: boolean
}

/** How many operations one process performs at a time. */
const mostAtOnce = 32
/** Pokes that wait here; further ones are found by the sweep. */
const mostWaiting = 1000
/** Milliseconds until work is looked at again that this process can't do, such as another release's operation. */
const elsewhere = 30_000
/** Milliseconds that a hook may take. */
const hookTime = 30_000
/** How often somebody's wish to cancel is brought before `cancel` where that answers nothing. */
const mostCancelTries = 10

/** Makes the worker. Nothing is done until it is poked or swept. */
export function createWorker(options: WorkerOptions): OperationWorker {
  const { now, log } = options
  const performer = createPerformer(options)
  const cancelTime = Math.max(...[...options.operations.values()].map(({ performTimeout }) => performTimeout), 0)
  const waiting: string[] = []
  const atWork = new Set<string>()
  const complained = new Set<string>()
  let isStopped = false

  function poke(operationId: string, asConfirmed?: StoredOperation): void {
    if (isStopped || atWork.has(operationId)) return
    if (atWork.size >= mostAtOnce) {
      if (waiting.length < mostWaiting) waiting.push(operationId)
      return
    }
    void options.track(attendAlone(operationId, undefined, asConfirmed))
  }

  async function attendAlone(operationId: string, work?: Work, asConfirmed?: StoredOperation): Promise<void> {
    atWork.add(operationId)
    try {
      // Only whoever takes it from the outbox, where it stands for one, asks what came of what was started: what is due may
      // have been begun by another instance since it was read.
      const isDue = work?.kind === 'reconcile' && (await takeDue(work))
      if (work?.kind === 'reconcile' && !isDue) return
      const look = await performer.attend(operationId, { isDue, asConfirmed })
      if (work === undefined) return
      // What ended took its work with it; this is left of a change that another release made.
      if (look === 'done') await deleteWork(await options.scope(), work)
      if (look === 'no_definition') await leaveToOthers(work)
    } catch (error) {
      // It is in the outbox still: the sweep comes back to it.
      log.error({ operation: operationId, error: forLog(error) }, 'the work of an operation failed')
    } finally {
      atWork.delete(operationId)
      const next = waiting.shift()
      if (next !== undefined) poke(next)
    }
  }

  async function takeDue(work: Work): Promise<boolean> {
    return claimWork(await options.scope(), { work, now: now(), until: now() + writeMargin })
  }

  async function leaveToOthers(work: Work): Promise<void> {
    if (!complained.has(work.operation_id)) {
      complained.add(work.operation_id)
      log.error(
        { operation: work.operation_id },
        'a confirmed operation is not among `operations` any more: put it back, or settle it',
      )
    }
    await putOffWork(await options.scope(), { work, until: now() + elsewhere })
  }

  async function sweep(limit = 50): Promise<Swept> {
    if (isStopped) return { done: 0, isDone: true }
    const scope = await options.scope()
    const expired = await expireSome(scope, limit)
    // Hooks that hang or fail hold up nothing but what is told.
    const [toDo, toTell] = await Promise.all([look(scope, 'do', limit), look(scope, 'tell', limit)])
    return {
      done: expired + toDo.done + toTell.done,
      isDone: expired < limit && toDo.isDone && toTell.isDone,
    }
  }

  async function look(scope: Scope, what: 'do' | 'tell', limit: number): Promise<Swept> {
    const due = await dueWork(scope, { what, now: now(), limit })
    const here = due.filter(({ operation_id: id, kind }) => kind === 'tell' || kind === 'cancel' || !atWork.has(id))
    for (let from = 0; from < here.length && !isStopped; from += mostAtOnce) {
      await Promise.all(here.slice(from, from + mostAtOnce).map((work) => options.track(attendTo(scope, work))))
    }
    return { done: here.length, isDone: due.length < limit }
  }

  async function expireSome(scope: Scope, limit: number): Promise<number> {
    const ids = await expiredOperations(scope, { now: now(), limit })
    for (const id of ids) {
      const entry = { event: 'expired', channel: 'worker', who: {} } as const
      await expireOperation(scope, { id, now: now(), entry, tells: options.tells('expired') })
      options.changed(id)
    }
    return ids.length
  }

  async function attendTo(scope: Scope, work: Work): Promise<void> {
    if (work.kind === 'perform' || work.kind === 'reconcile') return attendAlone(work.operation_id, work)
    const until = now() + (work.kind === 'tell' ? hookTime : cancelTime) + writeMargin
    try {
      if (!(await claimWork(scope, { work, now: now(), until }))) return
      await (work.kind === 'tell' ? tell(scope, work) : askToCancel(scope, work))
    } catch (error) {
      log.error({ operation: work.operation_id, kind: work.kind, error: forLog(error) }, 'work of the outbox failed')
      // Where that fails too, the lease ends by itself, and it is due again.
      await putOffWork(scope, { work, until: now() + pauseAfter(work.attempts + 1) }).catch((again: unknown) =>
        log.error({ operation: work.operation_id, error: forLog(again) }, 'the outbox could not be written'),
      )
    }
  }

  async function tell(scope: Scope, work: Work): Promise<void> {
    const name = hookNameOf(work.payload ?? '')
    const hook = name === null ? undefined : options.hooks[name]
    const stored = await findOperation(scope, work.operation_id)
    if (options.news && stored !== null && isNews(work.payload ?? '')) {
      const number = Number(work.id.slice(work.id.lastIndexOf(':') + 1))
      await options.news(stored, { number, revision: await revisionOfEntry(scope, { id: work.operation_id, number }) })
    }
    if (name !== null && hook !== undefined && stored !== null) {
      const event = Object.freeze({ key: work.id, event: name, operation: viewOf(stored, now()) })
      const ran = await runWithin(() => hook(event), {
        time: hookTime,
        givenUp: options.givenUp,
        late: () => {},
      })
      if (ran.how === 'threw') throw ran.error
      if (ran.how !== 'returned') throw new Error(`onOperation.${name} was given up: ${ran.how}`)
    }
    await options.at('told', work.operation_id)
    await deleteWork(scope, work)
  }

  /** Somebody wants it stopped, and it has begun: the company says whether that is possible still. */
  async function askToCancel(scope: Scope, work: Work): Promise<void> {
    const id = work.operation_id
    const stored = await findOperation(scope, id)
    if (stored === null || stored.operation.state !== 'in_progress') return deleteWork(scope, work)
    const definition = options.operations.get(stored.operation.name)
    if (definition === undefined) return leaveToOthers(work)
    const answer = definition.cancel === undefined ? 'too_late' : await cancelBy(definition, stored, work)
    if (typeof answer === 'object') {
      const entry = { event: 'cancelled', channel: 'worker', who: {} } as const
      const result = answer.reason === undefined ? null : JSON.stringify({ reason: answer.reason.slice(0, 2000) })
      // What may be performed again could have been, since the company looked whether something is left of it.
      const turn = definition.repeatable ? stored.operation.turn : null
      const change = { id, turn, result, now: now(), entry, tells: options.tells('cancelled') }
      const written = await finishCancelled(scope, change)
      options.changed(id)
      if (written === null && turn !== null) return putOffWork(scope, { work, until: now() + pauseAfter(1) })
    } else if (answer === 'too_late' || work.attempts >= mostCancelTries) {
      const entry = { event: 'cancel_answered', channel: 'worker', who: {}, detail: { answer } } as const
      await addToTrail(scope, { id, now: now(), entry })
    } else {
      return putOffWork(scope, { work, until: now() + pauseAfter(work.attempts + 1) })
    }
    await deleteWork(scope, work)
  }

  async function cancelBy(
    definition: NonNullable<ReturnType<PerformerOptions['operations']['get']>>,
    stored: NonNullable<Awaited<ReturnType<typeof findOperation>>>,
    work: Work,
  ): Promise<Extract<CancelOutcome, { readonly outcome: 'cancelled' }> | 'too_late' | 'unknown'> {
    const { id } = stored.operation
    const agreement = agreementOf(stored)
    const ran = await runWithin<unknown>(
      (signal) => definition.cancel?.(agreement, Object.freeze({ key: id, signal, attempt: work.attempts + 1 })),
      { time: definition.performTimeout, givenUp: options.givenUp, late: () => {} },
    )
    if (ran.how !== 'returned') {
      log.error(
        { operation: id, how: ran.how, ...(ran.how === 'threw' ? { error: forLog(ran.error) } : {}) },
        'cancelling an operation failed',
      )
      return 'unknown'
    }
    if (isOutcome<CancelOutcome>(ran.value, ['cancelled', 'too_late', 'unknown'])) {
      return ran.value.outcome === 'cancelled' ? ran.value : ran.value.outcome
    }
    log.error({ operation: id }, 'cancel of an operation answered neither cancelled(), tooLate() nor unknown()')
    return 'unknown'
  }

  return {
    poke,
    sweep,
    stop() {
      isStopped = true
      waiting.length = 0
    },
  }
}
