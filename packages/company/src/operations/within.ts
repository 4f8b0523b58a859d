/** Runs the company's code for a bounded time. */

/** How a run ended. */
export type Ran<T> =
  | { readonly how: 'returned'; readonly value: T }
  | { readonly how: 'threw'; readonly error: unknown }
  /** It still runs, and nobody waits for it: what it does from here on comes in as `late`. */
  | { readonly how: 'timeout' | 'closed' }

/**
 * Runs something until it ends, its time is up, or the Company closes; then its signal aborts, and the wait ends at once.
 * @param late hears how a run that was given up ended after all
 */
export async function runWithin<T>(
  run: (signal: AbortSignal) => T | Promise<T>,
  options: {
    /** Milliseconds. */
    readonly time: number
    readonly givenUp: AbortSignal
    readonly late: (ended: Ran<T>) => void
  },
): Promise<Ran<T>> {
  const stop = new AbortController()
  const { promise: stopped, resolve } = Promise.withResolvers<Ran<T>>()
  const giveUp = (how: 'timeout' | 'closed') => {
    resolve({ how })
    stop.abort(new DOMException(how, how === 'timeout' ? 'TimeoutError' : 'AbortError'))
  }
  const closed = () => giveUp('closed')
  const timer = setTimeout(() => giveUp('timeout'), options.time)
  options.givenUp.addEventListener('abort', closed, { once: true })
  try {
    if (options.givenUp.aborted) closed()
    const running = ended(run, stop.signal)
    const first = await Promise.race([running, stopped])
    if (first.how === 'timeout' || first.how === 'closed') void running.then(options.late)
    return first
  } finally {
    clearTimeout(timer)
    options.givenUp.removeEventListener('abort', closed)
  }
}

async function ended<T>(run: (signal: AbortSignal) => T | Promise<T>, signal: AbortSignal): Promise<Ran<T>> {
  try {
    return { how: 'returned', value: await run(signal) }
  } catch (error) {
    return { how: 'threw', error }
  }
}
