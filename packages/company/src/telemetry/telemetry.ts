import { PoppyError } from '@poppyseed/protocol'
import { BoundedCache } from '../crypto/bounded-cache.ts'
import type { Logger } from '../store/database.ts'
import { callerOf } from './caller.ts'
import {
  createOpenTelemetry,
  hasOpenTelemetry,
  type OpenTelemetry,
  type Part,
  type WatchedRequest,
} from './open-telemetry.ts'
import type { Cause, DeliveryAbout, DeliveryEnd, Gauges, HandoffAbout, TurnAbout, TurnOutcome } from './work.ts'

/**
 * What is told of each request: a line in the log, and where the host has OpenTelemetry a span and metrics. Nothing here
 * ever holds a token, a code, an assertion, a person's id, a query or a raw path.
 */

/** One request while it runs. */
export interface Observed {
  /** It ended in this error: its code becomes the outcome, its private reason goes to the log alone. */
  readonly failed: (error: unknown) => void
}

/** See {@link createTelemetry}. */
export interface Telemetry {
  /**
   * Watches one request. `route` is its template, such as `/poppy/tools/{name}`, or null where nothing answers. `answer`
   * gives the response and, where that is still being sent, when it is over.
   */
  readonly request: (
    request: Request,
    route: string | null,
    answer: (observed: Observed) => Promise<Answer>,
  ) => Promise<Response>
  /** Watches a part of a request: a tool that runs, or a stranger's document that is fetched. A child of its span. */
  readonly part: <T>(part: Part, run: () => Promise<T>) => Promise<T>
  /** Watches work that no request waits for. */
  readonly work: WorkWatch
}

/** What is told of work that no request waits for: see `work.ts`, which does it where the host has OpenTelemetry. */
export interface WorkWatch {
  /** The span that is active here, to be linked to. */
  readonly cause: () => Cause | undefined
  readonly turn: <T>(
    about: Omit<TurnAbout, 'client'> & { readonly clientId: string },
    run: () => Promise<T>,
    outcomeOf: (end: T) => TurnOutcome,
  ) => Promise<T>
  readonly handoff: (about: HandoffAbout) => void
  readonly delivery: <T>(about: DeliveryAbout, run: () => Promise<T>, endOf: (end: T) => DeliveryEnd) => Promise<T>
  /** Has this looked at whenever metrics are collected; ends with what comes back. */
  readonly observe: (gauges: Gauges) => () => void
}

/** A response, and when it is sent whole; null where that is at once. */
export interface Answer {
  readonly response: Response
  readonly sent: Promise<void> | null
}

/** Anybody may send any method: what is told has those of the conventions and one for all others. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE'])

/** Makes the watch. */
export function createTelemetry({ log, origin }: { readonly log: Logger; readonly origin: string }): Telemetry {
  const hosts = new BoundedCache<string>(1000)
  const observed = new Map<Gauges, () => void>()
  let loading: Promise<OpenTelemetry> | undefined
  let loaded: OpenTelemetry | undefined

  function load(): Promise<OpenTelemetry> {
    loading ??= createOpenTelemetry(origin).then((made) => {
      loaded = made
      for (const gauges of observed.keys()) observed.set(gauges, made.work.observe(gauges))
      return made
    })
    return loading
  }

  function hostOf(clientId: string): string {
    const known = hosts.get(clientId)
    if (known !== undefined) return known
    const host = URL.parse(clientId)?.host ?? ''
    hosts.set(clientId, host)
    return host
  }

  return {
    async request(request, route, answer) {
      const method = methods.has(request.method) ? request.method : '_OTHER'
      const started = performance.now()
      const watched = hasOpenTelemetry() ? (await load()).begin(method, route) : null
      let error: unknown
      const observed: Observed = {
        failed(thrown) {
          error = thrown ?? new Error('nothing was thrown')
        },
      }
      const told = (status: number): RequestTold => {
        const caller = callerOf(request)
        // Nobody is there any more to get that answer: leaving is the caller's own doing, and no failure of ours.
        const isFailure = status >= 500 && !request.signal.aborted
        const client = caller && hostOf(caller.clientId)
        return { log, watched, started, method, route, status, error, client, session: caller?.sessionId, isFailure }
      }
      try {
        const { response, sent } = await (watched ? watched.within(() => answer(observed)) : answer(observed))
        if (sent === null) tell(told(response.status))
        else tellWhen(sent, told(response.status))
        return response
      } catch (thrown) {
        observed.failed(thrown)
        tell(told(500))
        throw thrown
      }
    },
    part: (part, run) => (hasOpenTelemetry() ? load().then((telemetry) => telemetry.part(part, run)) : run()),
    work: {
      cause: () => loaded?.work.cause(),
      turn({ clientId, ...about }, run, outcomeOf) {
        if (!hasOpenTelemetry()) return run()
        return load().then(({ work }) => work.turn({ ...about, client: hostOf(clientId) }, run, outcomeOf))
      },
      handoff(about) {
        if (hasOpenTelemetry()) void load().then(({ work }) => work.handoff(about))
      },
      delivery: (about, run, endOf) =>
        hasOpenTelemetry() ? load().then(({ work }) => work.delivery(about, run, endOf)) : run(),
      observe(gauges) {
        observed.set(gauges, loaded?.work.observe(gauges) ?? (() => {}))
        if (hasOpenTelemetry()) void load()
        return () => {
          observed.get(gauges)?.()
          observed.delete(gauges)
        }
      },
    },
  }
}

/** What is told of a request, which is gone by then: a stream may be open for minutes, and there may be thousands. */
interface RequestTold {
  readonly log: Logger
  readonly watched: WatchedRequest | null
  readonly started: number
  readonly method: string
  readonly route: string | null
  readonly status: number
  readonly error: unknown
  readonly client: string | undefined
  readonly session: string | undefined
  readonly isFailure: boolean
}

function tellWhen(sent: Promise<void>, told: RequestTold): void {
  void sent.then(() => tell(told))
}

function tell({ log, watched, started, error, isFailure, ...about }: RequestTold): void {
  const { method, route, status, client, session } = about
  const seconds = (performance.now() - started) / 1000
  const outcome = outcomeOf(status, error)
  watched?.end({ status, outcome, seconds, client, session, isFailure })
  const line: RequestLine = {
    method,
    route: route ?? 'none',
    status,
    outcome,
    milliseconds: Math.round(seconds * 1e5) / 100,
  }
  if (error instanceof PoppyError && error.reason !== undefined) line.reason = error.reason
  if (client !== undefined) line.client = client
  if (session !== undefined) line.session = session
  logRequest(log, line, isFailure)
}

function outcomeOf(status: number, error: unknown): string {
  if (error instanceof PoppyError) return error.code
  if (error !== undefined || status >= 500) return 'server_error'
  // Pages say in words why they refuse.
  return status >= 400 ? 'refused' : 'ok'
}

/** What the log has of a request. Filled in where it is made, and handed to the log once. */
interface RequestLine {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly outcome: string
  readonly milliseconds: number
  /** Why it was refused, for the log alone. */
  reason?: string
  /** The host of a client that was authenticated. */
  client?: string
  session?: string
}

/**
 * What went well is counted and traced, so its line is for debugging; what was refused is looked for afterwards, by
 * whoever asks why an agent can't get in; what failed on our side is a warning. A client that has to learn the nonce is
 * refused once in every normal visit.
 */
function logRequest(log: Logger, line: RequestLine, isFailure: boolean): void {
  if (isFailure) log.warn(line, 'request')
  else if (line.status >= 400 && line.outcome !== 'use_dpop_nonce') log.info(line, 'request')
  else log.debug(line, 'request')
}
