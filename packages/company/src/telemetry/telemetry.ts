import type { Attributes, Counter, Histogram, MeterProvider, Span, Tracer, UpDownCounter } from '@opentelemetry/api'
import { PoppyError } from '@poppyseed/protocol'
import { BoundedCache } from '../crypto/bounded-cache.ts'
import { FetchRefused } from '../net/fetch-refused.ts'
import type { Logger } from '../store/database.ts'
import { callerOf } from './caller.ts'

/**
 * What is told of each request: a line in the log, a span, and metrics. Where the host has no OpenTelemetry SDK, its API
 * does nothing. Nothing here ever holds a token, a code, an assertion, a person's id, a query or a raw path.
 */

type Api = typeof import('@opentelemetry/api')

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
}

/** A response, and when it is sent whole; null where that is at once. */
export interface Answer {
  readonly response: Response
  readonly sent: Promise<void> | null
}

/** What a part of a request is. */
export interface Part {
  /** Such as `tool my_bookings`: chosen from what the company wrote, never from what a caller sent. */
  readonly name: string
  readonly isOutgoing?: boolean
  readonly attributes: Readonly<Record<string, string>>
}

/** What is known of a request from its method and route: the span's name, and attributes. */
interface About {
  readonly name: string
  readonly ofRequest: Attributes
  readonly atStart: Attributes
}

interface Instruments {
  readonly provider: MeterProvider
  readonly count: Counter
  readonly duration: Histogram
  readonly active: UpDownCounter
}

/** Seconds: the boundaries that the semantic conventions give for HTTP servers. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Anybody may send any method: metrics and names have those of the conventions and one for all others. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE'])

/** Makes the watch. OpenTelemetry's API is loaded with the first request. */
export function createTelemetry({ log, origin }: { readonly log: Logger; readonly origin: string }): Telemetry {
  const { hostname, protocol } = new URL(origin)
  const server = { 'url.scheme': protocol.slice(0, -1), 'server.address': hostname }
  let api: Api | undefined
  let tracer: Tracer | undefined
  let instruments: Instruments | undefined
  const abouts = new Map<string, About>()
  const hosts = new BoundedCache<string>(1000)

  // Read at every request, and as few as there are routes and methods.
  function aboutOf(method: string, route: string | null): About {
    const name = route === null ? method : `${method} ${route}`
    const known = abouts.get(name)
    if (known) return known
    const ofRequest = { 'http.request.method': method, ...(route === null ? {} : { 'http.route': route }) }
    const about = { name, ofRequest, atStart: { ...ofRequest, ...server } }
    abouts.set(name, about)
    return about
  }

  function hostOf(clientId: string): string {
    const known = hosts.get(clientId)
    if (known !== undefined) return known
    const host = URL.parse(clientId)?.host ?? ''
    hosts.set(clientId, host)
    return host
  }

  // The metrics API has no stand-in: whoever asks before the SDK is there keeps instruments that do nothing.
  function current({ metrics }: Api): Instruments {
    const provider = metrics.getMeterProvider()
    if (instruments?.provider === provider) return instruments
    const meter = provider.getMeter('poppyseed')
    instruments = {
      provider,
      count: meter.createCounter('poppy.server.requests', { description: 'Requests that were answered.' }),
      duration: meter.createHistogram('poppy.server.request.duration', {
        unit: 's',
        description: 'How long requests took, to the last byte of the answer.',
        advice: { explicitBucketBoundaries: boundaries },
      }),
      active: meter.createUpDownCounter('poppy.server.active_requests', {
        description: 'Requests that are being answered.',
      }),
    }
    return instruments
  }

  return {
    async request(request, route, answer) {
      api ??= await import('@opentelemetry/api')
      const loaded = api
      const { context, SpanKind, trace } = loaded
      const { active, count, duration } = current(loaded)
      const method = methods.has(request.method) ? request.method : '_OTHER'
      const { name, ofRequest, atStart } = aboutOf(method, route)
      const started = performance.now()
      active.add(1, ofRequest)
      // The parent is what the host has active here, and no other: a stranger's `traceparent` is not read. It would let
      // anybody choose our trace ids and switch sampling on.
      const isInside = trace.getActiveSpan() !== undefined
      tracer ??= trace.getTracer('poppyseed')
      const span = tracer.startSpan(name, {
        kind: isInside ? SpanKind.INTERNAL : SpanKind.SERVER,
        attributes: atStart,
      })
      let error: unknown
      const observed: Observed = {
        failed(thrown) {
          error = thrown ?? new Error('nothing was thrown')
        },
      }
      const end = (status: number) => {
        const outcome = outcomeOf(status, error)
        const told = { ...ofRequest, 'http.response.status_code': status, 'poppy.outcome': outcome }
        const seconds = (performance.now() - started) / 1000
        active.add(-1, ofRequest)
        count.add(1, told)
        duration.record(seconds, told)
        const caller = callerOf(request)
        const client = caller && hostOf(caller.clientId)
        if (span.isRecording()) {
          span.setAttributes(told)
          if (client !== undefined) span.setAttribute('poppy.client.host', client)
          if (caller?.sessionId !== undefined) span.setAttribute('poppy.session.id', caller.sessionId)
          if (status >= 500) fail(loaded, span, outcome)
        }
        span.end()
        logRequest(log, {
          method,
          route: route ?? 'none',
          status,
          outcome,
          ...(error instanceof PoppyError && error.reason !== undefined ? { reason: error.reason } : {}),
          milliseconds: Math.round(seconds * 1e5) / 100,
          ...(client === undefined ? {} : { client }),
          ...(caller?.sessionId === undefined ? {} : { session: caller.sessionId }),
        })
      }
      try {
        const { response, sent } = await within(span, () => answer(observed))
        if (sent === null) end(response.status)
        else void sent.then(() => end(response.status))
        return response
      } catch (thrown) {
        observed.failed(thrown)
        end(500)
        throw thrown
      }

      function within<T>(of: Span, run: () => T): T {
        if (!trace.isSpanContextValid(of.spanContext())) return run()
        return context.with(trace.setSpan(context.active(), of), run)
      }
    },

    async part({ name, isOutgoing = false, attributes }, run) {
      api ??= await import('@opentelemetry/api')
      const loaded = api
      const { context, SpanKind, trace } = loaded
      tracer ??= trace.getTracer('poppyseed')
      const span = tracer.startSpan(name, {
        kind: isOutgoing ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: attributes satisfies Attributes,
      })
      if (!trace.isSpanContextValid(span.spanContext())) return run()
      try {
        return await context.with(trace.setSpan(context.active(), span), run)
      } catch (error) {
        fail(loaded, span, kindOf(error))
        throw error
      } finally {
        span.end()
      }
    },
  }

  /** Only what kind of error it was: a message, and a stack that begins with it, may hold anything. */
  function fail({ SpanStatusCode }: Api, span: Span, kind: string): void {
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', kind)
  }
}

function outcomeOf(status: number, error: unknown): string {
  if (error instanceof PoppyError) return error.code
  if (error !== undefined || status >= 500) return 'server_error'
  // Pages say in words why they refuse.
  return status >= 400 ? 'refused' : 'ok'
}

function kindOf(error: unknown): string {
  if (error instanceof PoppyError) return error.code
  if (error instanceof FetchRefused) return error.reason
  // A name is a word; anything longer could be something else.
  return error instanceof Error && /^[A-Za-z]{1,64}$/.test(error.name) ? error.name : '_OTHER'
}

/** What the log has of a request. */
interface RequestLine {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly outcome: string
  /** Why it was refused, for the log alone. */
  readonly reason?: string
  readonly milliseconds: number
  /** The host of a client that was authenticated. */
  readonly client?: string
  readonly session?: string
}

/**
 * What went well is counted and traced, so its line is for debugging; what was refused is looked for afterwards, by
 * whoever asks why an agent can't get in; what failed on our side is a warning. A client that has to learn the nonce is
 * refused once in every normal visit.
 */
function logRequest(log: Logger, line: RequestLine): void {
  if (line.status >= 500) log.warn(line, 'request')
  else if (line.status >= 400 && line.outcome !== 'use_dpop_nonce') log.info(line, 'request')
  else log.debug(line, 'request')
}
