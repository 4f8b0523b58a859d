import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'

/** Ending a process in which a Company runs: no request that was taken is broken, and nothing keeps it for ever. */

/** What {@link stopServer} needs of a Company. */
export interface Closable {
  readonly close: (options?: { readonly deadline?: number }) => Promise<void>
}

/** How long stopping may take. */
export interface StopOptions {
  /**
   * Milliseconds for which everything is still answered as before, but told to come no more on this connection: then
   * nobody sends a request into one that is being closed. 500 when left out. Behind a load balancer, as long as it takes to
   * notice.
   */
  readonly drain?: number
  /** Milliseconds after that for requests that still run; 20,000 when left out. */
  readonly deadline?: number
}

/** The longest that a timer runs, in milliseconds: with more, Node lets it go off at once. */
const longest = 2_147_483_647

/** How often connections that have become idle are looked for, in milliseconds. */
const look = 25

/**
 * Stops a server and its Company: first it asks clients to leave, then it takes no connections, finishes what runs, and
 * closes the Company. What still runs at the deadline is given up; the Company's own requests are told so. A WebSocket is
 * its owner's to close: it is waited for until the deadline, and ends with the process.
 *
 * ```ts
 * stopOnSignals(() => stopServer(server, company))
 * ```
 */
export async function stopServer(server: Server, company: Closable, options: StopOptions = {}): Promise<void> {
  const { drain = 500, deadline = 20_000 } = options
  const leave = (_request: IncomingMessage, response: ServerResponse) => {
    // Read by Node when it writes the headers: `Connection: close`.
    response.shouldKeepAlive = false
  }
  server.prependListener('request', leave)
  for (const until = performance.now() + drain; performance.now() < until; ) {
    if ((await connectionsOf(server)) === 0) break
    await wait(Math.min(look, drain))
  }
  const ends = performance.now() + deadline
  const closed = server.listening ? once(server, 'close') : Promise.resolve()
  server.close()
  const idle = setInterval(() => server.closeIdleConnections(), look)
  try {
    await company.close({ deadline })
    // The site's own requests have the rest of the time.
    const over = new AbortController()
    const rest = Math.min(Math.max(0, ends - performance.now()), longest)
    const late = wait(rest, undefined, { signal: over.signal }).then(
      () => server.closeAllConnections(),
      () => {},
    )
    // Not for `closed` alone: a connection that became a WebSocket is the server's no more, and may stay for ever.
    await Promise.race([closed, late])
    over.abort()
    await late
  } finally {
    clearInterval(idle)
    server.off('request', leave)
  }
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** Settings of {@link stopOnSignals}. */
export interface SignalOptions {
  /** `SIGTERM` and `SIGINT` when left out. */
  readonly signals?: readonly NodeJS.Signals[]
  /** Told when stopping failed, before the process ends with 1. Left out: to the console. */
  readonly failed?: (error: unknown) => void
}

/** Milliseconds in which a signal that comes twice is one: a terminal sends it to all, and npm hands it on once more. */
const sameSignal = 300

/**
 * Stops at the first signal and then ends the process: with 0, or with 1 when stopping failed. A second signal ends it at
 * once.
 * @returns a function that does the same without a signal
 */
export function stopOnSignals(stop: () => Promise<void>, options: SignalOptions = {}): () => void {
  const { signals = ['SIGTERM', 'SIGINT'], failed = (error) => console.error('poppyseed: stopping failed', error) } =
    options
  let begun: number | null = null
  const begin = () => {
    if (begun !== null) return
    begun = performance.now()
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        failed(error)
        process.exit(1)
      },
    )
  }
  for (const signal of signals) {
    process.on(signal, () => {
      if (begun !== null && performance.now() - begun > sameSignal) process.exit(128 + constants.signals[signal])
      begin()
    })
  }
  return begin
}
