import { PoppyError } from '@poppyseed/protocol'
import { cleanUp } from './store/clean-up.ts'
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
  readonly close: () => Promise<void>
}

/** Milliseconds between two bites of clean-up, and rows in a bite. */
const cleanUpInterval = 60_000
const cleanUpBite = 500

/** Opens the store when it is first needed, tidies it now and then, and closes it when nothing runs any more. */
export function createLifecycle(options: {
  readonly store: () => Promise<Store>
  readonly company: string
  readonly now: () => number
  readonly log: Logger
  readonly onClose: () => void
}): Lifecycle {
  let opening: Promise<Scope> | null = null
  let closing: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  const running = new Set<Promise<unknown>>()

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
    timer = setInterval(() => tidy(opened), cleanUpInterval)
    timer.unref()
    options.log.info({ store: db.name }, 'the store is open')
    return opened
  }

  function tidy(opened: Scope): void {
    const work = cleanUp(opened, { now: options.now(), limit: cleanUpBite }).then(
      (rows) => options.log.debug({ rows }, 'cleaned up'),
      (error: unknown) =>
        options.log.error({ error: error instanceof Error ? error.message : typeof error }, 'clean-up failed'),
    )
    void track(work)
  }

  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work)
    const done = () => running.delete(work)
    work.then(done, done)
    return work
  }

  async function close(): Promise<void> {
    clearInterval(timer)
    while (running.size > 0) await Promise.allSettled(running)
    const opened: { readonly db: Database } | null = await (opening ?? null)
    await opened?.db.close()
    options.onClose()
  }

  return {
    start: async () => {
      if (closing) throw new Error('The Company was closed. Make a new one with createCompany.')
      await scope()
    },
    scope,
    track,
    run(work) {
      if (closing) {
        return Promise.reject(
          new PoppyError('temporarily_unavailable', { description: 'Closing down. Try again.', retryAfter: 1 }),
        )
      }
      return track(work())
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}
