import { AsyncLocalStorage } from 'node:async_hooks'
import { createChanges } from '../../packages/company/src/changes/changes.ts'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import { createOperations, type Operations } from '../../packages/company/src/operations/create-operations.ts'
import type { Operation } from '../../packages/company/src/operations/definition.ts'
import type { OperationHooks } from '../../packages/company/src/operations/hooks.ts'
import type { Database, Logger } from '../../packages/company/src/store/database.ts'
import { askedHash } from './asked-hash.ts'

const ignore = () => {}
const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** The process died: nothing that runs in it reaches the database any more. */
export class Died extends Error {
  override readonly name = 'Died'
}

/** One instance of a Company in a model's world. It can die at any point, and nothing of it goes on then. */
export interface Instance {
  readonly operations: Operations
  readonly isDead: () => boolean
  readonly die: () => never
  /** Dies when it comes to this point the next time. */
  readonly arm: (point: FaultPoint) => void
  /** Looks after what is due, as far as it gets without what waits at a gate. */
  readonly sweep: () => Promise<{ readonly isDone: boolean }>
  /** Resolves once nothing of it goes on but what waits at a gate. */
  readonly idle: () => Promise<void>
  /** Waits there as long as the function that is called may run; `counts` where it may do so for as long as it wants. */
  readonly atGate: (gate: Promise<void>, signal: AbortSignal, counts: boolean) => Promise<void>
  /** Ends the timers of what never comes back. */
  readonly end: () => void
}

/** Starts one. What the company's own code does is made for it, so that it can die in the middle. */
export function startInstance(options: {
  readonly db: Database
  readonly company: string
  readonly now: () => number
  readonly random: (length: number) => Uint8Array
  readonly operationsOf: (instance: Instance) => readonly Operation[]
  readonly hooks: OperationHooks
}): Instance {
  const givenUp = new AbortController()
  const running = new Set<Promise<unknown>>()
  const armed = new Set<FaultPoint>()
  const sweeps = new AsyncLocalStorage<() => void>()
  let isDead = false
  let atGates = 0
  let queries = 0
  let sweeping: Promise<unknown> | null = null

  const die = (): never => {
    isDead = true
    throw new Died()
  }
  const alive = () => {
    if (isDead) throw new Died()
  }
  async function counted<T>(query: () => Promise<T>): Promise<T> {
    alive()
    queries += 1
    try {
      return await query()
    } finally {
      queries -= 1
    }
  }
  const { db } = options
  const guarded: Database = {
    ...db,
    get query() {
      alive()
      return db.query
    },
    transaction: (run) => counted(() => db.transaction(run)),
    run: (sql, parameters) => counted(() => db.run(sql, parameters)),
  }
  const instance: Instance = {
    isDead: () => isDead,
    die,
    arm: (point) => void armed.add(point),
    async sweep() {
      if (sweeping !== null) return { isDone: false }
      const { promise: stuck, resolve } = Promise.withResolvers<{ isDone: boolean }>()
      const pass = sweeps
        .run(
          () => resolve({ isDone: false }),
          () => instance.operations.durable.sweep(),
        )
        .finally(() => {
          sweeping = null
        })
      sweeping = pass.catch(() => {})
      return Promise.race([pass, stuck])
    },
    async idle() {
      do await new Promise(setImmediate)
      while (!isDead && (running.size > atGates || queries > 0))
    },
    async atGate(gate, signal, counts) {
      const waited = Promise.race([
        gate,
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
      ])
      if (counts) {
        atGates += 1
        sweeps.getStore()?.()
      }
      await waited
      if (counts) atGates -= 1
      await gate
      alive()
    },
    end: () => givenUp.abort(),
    operations: null as never,
  }
  const operations = createOperations({
    askedHash,
    ...options,
    scope: async () => {
      alive()
      return { db: guarded, company: options.company }
    },
    operations: options.operationsOf(instance),
    faults: {
      atPoint(point) {
        if (isDead || armed.has(point)) die()
      },
    },
    changes: createChanges(),
    hasPage: false,
    pageOf: (id) => id,
    log: silent,
    givenUp: givenUp.signal,
    track(work) {
      running.add(work)
      const over = () => running.delete(work)
      work.then(over, over)
      return work
    },
  })
  return Object.assign(instance, { operations })
}
