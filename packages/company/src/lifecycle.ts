import { AsyncLocalStorage } from 'node:async_hooks'
import { PoppyError } from '@poppyseed/protocol'
import { cleanUp, type KeptFor } from './store/clean-up.ts'
import type { Database, Logger, Scope, Store } from './store/database.ts'

/** Opening, running and closing: one store, opened once, and requests that are finished before it closes. */

/** The life of a Company: opened once, closed once. */
export interface Lifecycle {
  /** Opens and migrates the store; the first request does it where nobody else has. */
  readonly start: () => Promise<void>
  readonly scope: () => Promise<Scope>
  /** Runs one request; refuses new ones while closing. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  /** Has the end wait for something that a request left running, such as an answer that is still being sent. */
  readonly track: <T>(work: Promise<T>) => Promise<T>
  /** Does a bounded piece of what is otherwise done now and then. */
  readonly work: () => Promise<Worked>
  readonly close: (options?: CloseOptions) => Promise<void>
  /** Aborts when closing begins: whoever waits for something to happen is answered then. */
  readonly ending: AbortSignal
}

/** How a Company closes. */
export interface CloseOptions {
  /**
   * Milliseconds that requests may still run; 20,000 when left out. Then tools are told to stop, and whoever waits for
   * one gets 503 with Retry-After.
   */
  readonly deadline?: number
}

/** What {@link Lifecycle.work} did. */
export interface Worked {
  /** Rows that were over and are gone. */
  readonly cleanedUp: number
  /** Pieces of work of operations and conversations that were looked after. */
  readonly performed: number
  /** Whether there was nothing left to do. False: call again. */
  readonly isDone: boolean
}

/** Work that is durable: what is due is looked after now and then, whoever left it. */
export interface DurableWork {
  /** Does a bounded piece of what is due; `toTheEnd`: what it begins has ended by then, as `company.work` promises. */
  readonly sweep: (how?: {
    readonly toTheEnd?: boolean
  }) => Promise<{ readonly done: number; readonly isDone: boolean }>
  /** Begins nothing more. */
  readonly stop: () => void
}

/** Milliseconds between two looks at what is due. */
const sweepInterval = 1000
/** Milliseconds between two passes of clean-up, and rows in a bite. */
const cleanUpInterval = 60_000
const cleanUpBite = 500
/** Bites of each kind of row in one call of `work`: a second or two on a slow disk. */
const workBites = 20

const defaultDeadline = 20_000
/** The longest that a timer runs, in milliseconds: with more, Node lets it go off at once. */
const longestTimer = 2_147_483_647
/** Milliseconds that are left to requests that were given up, to say so to their callers. */
const lastWords = 1000

/** Opens the store when it is first needed, tidies it now and then, and closes it when nothing runs any more. */
export function createLifecycle(options: {
  readonly store: () => Promise<Store>
  readonly company: string
  /** How long what is over is kept. */
  readonly retention: KeptFor
  readonly now: () => number
  readonly log: Logger
  /** Each is looked after by itself: what takes long holds up nothing else. More may come before the store is opened. */
  readonly durable: readonly DurableWork[]
  /** Requests that still run are to be given up. */
  readonly onDeadline: () => void
  readonly onClose: () => void
}): Lifecycle {
  // Whoever's request opens the store, what is done now and then is no part of it.
  const outside = AsyncLocalStorage.snapshot()
  let opening: Promise<Scope> | null = null
  let closing: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  let sweepTimer: NodeJS.Timeout | undefined
  const sweeping = new Set<DurableWork>()
  const running = new Set<Promise<unknown>>()
  let tidying: Promise<unknown> | null = null
  const ending = new AbortController()

  function scope(): Promise<Scope> {
    if (!opening) {
      opening = open()
      // A store that couldn't be opened is tried again by the next request, not remembered as broken for ever.
      opening.catch(() => {
        opening = null
      })
    }
    return opening
  }

  async function open(): Promise<Scope> {
    const store = await options.store()
    const db = await store.open({ now: options.now, log: options.log })
    const opened: Scope = Object.freeze({ db, company: options.company })
    timer = outside(() => setInterval(() => tidy(opened), cleanUpInterval)).unref()
    if (options.durable.length > 0) {
      sweepTimer = outside(() => setInterval(lookAll, sweepInterval)).unref()
      // What another process left lying doesn't wait for the first tick.
      outside(lookAll)
    }
    options.log.info({ store: db.name }, 'the store is open')
    return opened
  }

  function tidy(opened: Scope): void {
    // A pass that takes longer than the time between two is not joined by another.
    if (tidying) return
    const pass = cleanUp(opened, {
      now: options.now(),
      limit: cleanUpBite,
      retention: options.retention,
      log: options.log,
      signal: ending.signal,
    }).then(({ rows, isDone }) => options.log.debug({ rows, isDone }, 'cleaned up'))
    tidying = track(pass).finally(() => {
      tidying = null
    })
  }

  function lookAll(): void {
    for (const durable of options.durable) look(durable)
  }

  function look(durable: DurableWork): void {
    if (sweeping.has(durable)) return
    sweeping.add(durable)
    const pass = durable.sweep().catch((error: unknown) => {
      options.log.error(
        { error: error instanceof Error ? error.message : typeof error },
        'a look at what is due failed',
      )
    })
    void track(pass).finally(() => sweeping.delete(durable))
  }

  async function work(): Promise<Worked> {
    const swept = await Promise.all(options.durable.map((durable) => durable.sweep({ toTheEnd: true })))
    const { rows, isDone } = await cleanUp(await scope(), {
      now: options.now(),
      limit: cleanUpBite,
      retention: options.retention,
      mostBites: workBites,
      log: options.log,
      signal: ending.signal,
    })
    return {
      cleanedUp: rows,
      performed: swept.reduce((sum, { done }) => sum + done, 0),
      isDone: isDone && swept.every((one) => one.isDone),
    }
  }

  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work)
    const done = () => running.delete(work)
    work.then(done, done)
    return work
  }

  async function close({ deadline = defaultDeadline }: CloseOptions): Promise<void> {
    clearInterval(timer)
    clearInterval(sweepTimer)
    for (const durable of options.durable) durable.stop()
    ending.abort()
    if (!(await isIdleWithin(deadline))) {
      options.log.warn({ running: running.size, deadline }, 'requests still ran at the deadline and are given up')
      options.onDeadline()
      if (!(await isIdleWithin(lastWords)))
        options.log.error({ running: running.size }, 'requests did not end; the store is closed without them')
    }
    // A store that couldn't be opened has nothing to close.
    const opened: { readonly db: Database } | null = await (opening ?? Promise.resolve(null)).catch(() => null)
    await opened?.db.close()
    options.onClose()
  }

  /** Whether everything that ran has ended by then. */
  async function isIdleWithin(milliseconds: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const alarm = setTimeout(() => resolve(false), Math.min(milliseconds, longestTimer))
    const idle = async () => {
      while (running.size > 0) await Promise.allSettled(running)
      return true as const
    }
    const isIdle = await Promise.race([idle(), late])
    clearTimeout(alarm)
    return isIdle
  }

  /** Refuses what comes while closing, and has the end wait for what runs. */
  function run<T>(task: () => Promise<T>): Promise<T> {
    if (!closing) return track(task())
    return Promise.reject(
      new PoppyError('temporarily_unavailable', { description: 'Closing down. Try again.', retryAfter: 1 }),
    )
  }

  return {
    start: async () => {
      if (closing) throw new Error('The Company was closed. Make a new one with createCompany.')
      await scope()
    },
    scope,
    track,
    run,
    work: () => run(work),
    ending: ending.signal,
    close(how = {}) {
      const { deadline } = how
      if (deadline !== undefined && !(Number.isFinite(deadline) && deadline >= 0))
        throw new TypeError('`deadline` is in milliseconds, such as close({ deadline: 20_000 }).')
      closing ??= close(how)
      return closing
    },
  }
}
