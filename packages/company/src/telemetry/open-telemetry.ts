import type { Attributes, Counter, Histogram, MeterProvider, Span, Tracer, UpDownCounter } from '@opentelemetry/api'
import { PoppyError } from '@poppyseed/protocol'
import { FetchRefused } from '../net/fetch-refused.ts'
import { createWork, type Work } from './work.ts'

/** Spans and metrics through OpenTelemetry's API, where the host has an SDK for it. */

type Api = typeof import('@opentelemetry/api')

/** What is told of a request when it is over. */
export interface RequestEnd {
  readonly status: number
  readonly outcome: string
  readonly seconds: number
  /** The host of a client that was authenticated. */
  readonly client: string | undefined
  readonly session: string | undefined
  /** Whether it failed on our side. */
  readonly isFailure: boolean
}

/** A request that is watched. */
export interface WatchedRequest {
  /** Runs something as a part of it. */
  readonly within: <T>(run: () => T) => T
  readonly end: (end: RequestEnd) => void
}

/** What a part of a request is. */
export interface Part {
  /** Such as `tool my_bookings`: chosen from what the company wrote, never from what a caller sent. */
  readonly name: string
  readonly isOutgoing?: boolean
  readonly attributes: Readonly<Record<string, string>>
}

/** See {@link createOpenTelemetry}. */
export interface OpenTelemetry {
  /** `route`: its template, or null where nothing answers. */
  readonly begin: (method: string, route: string | null) => WatchedRequest
  readonly part: <T>(part: Part, run: () => Promise<T>) => Promise<T>
  /** Work that no request waits for. */
  readonly work: Work
}

/** Under this name all copies of the API's first major version find what an SDK registers. */
const registered = Symbol.for('opentelemetry.js.api.1')

/**
 * Whether an SDK is there, also one that came later. Without one, no span is made and the API isn't even loaded: asking it
 * at every request would cost a protected call a twentieth.
 */
export function hasOpenTelemetry(): boolean {
  return (globalThis as Record<symbol, unknown>)[registered] !== undefined
}

interface Instruments {
  readonly provider: MeterProvider
  readonly count: Counter
  readonly duration: Histogram
  readonly active: UpDownCounter
}

/** Seconds: the boundaries that the semantic conventions give for HTTP servers. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Makes the watch for a Company at this origin. */
export async function createOpenTelemetry(origin: string): Promise<OpenTelemetry> {
  const api = await import('@opentelemetry/api')
  const { context, metrics, SpanKind, trace } = api
  const tracer: Tracer = trace.getTracer('poppyseed')
  const { hostname, protocol } = new URL(origin)
  const server = { 'url.scheme': protocol.slice(0, -1), 'server.address': hostname }
  let instruments: Instruments | undefined

  // The metrics API has no stand-in: whoever asks before the SDK is there keeps instruments that do nothing.
  function current(): Instruments {
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

  function within<T>(span: Span, run: () => T): T {
    if (!trace.isSpanContextValid(span.spanContext())) return run()
    return context.with(trace.setSpan(context.active(), span), run)
  }

  return {
    work: createWork({ api, host: hostname, within, fail: (span, kind) => fail(api, span, kind), kindOf }),

    begin(method, route) {
      const about: Attributes = { 'http.request.method': method, ...(route === null ? {} : { 'http.route': route }) }
      const { active, count, duration } = current()
      active.add(1, about)
      // The parent is what the host has active here, and no other: a stranger's `traceparent` is not read. It would let
      // anybody choose our trace ids and switch sampling on.
      const isInside = trace.getActiveSpan() !== undefined
      const span = tracer.startSpan(route === null ? method : `${method} ${route}`, {
        kind: isInside ? SpanKind.INTERNAL : SpanKind.SERVER,
        attributes: { ...about, ...server },
      })
      return {
        within: (run) => within(span, run),
        end({ status, outcome, seconds, client, session, isFailure }) {
          const told = { ...about, 'http.response.status_code': status, 'poppy.outcome': outcome }
          active.add(-1, about)
          count.add(1, told)
          duration.record(seconds, told)
          if (span.isRecording()) {
            span.setAttributes(told)
            if (client !== undefined) span.setAttribute('poppy.client.host', client)
            if (session !== undefined) span.setAttribute('poppy.session.id', session)
            if (isFailure) fail(api, span, outcome)
          }
          span.end()
        },
      }
    },

    async part({ name, isOutgoing = false, attributes }, run) {
      const span = tracer.startSpan(name, { kind: isOutgoing ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes })
      try {
        return await within(span, run)
      } catch (error) {
        fail(api, span, kindOf(error))
        throw error
      } finally {
        span.end()
      }
    },
  }
}

/** Only what kind of error it was: a message, and a stack that begins with it, may hold anything. */
function fail({ SpanStatusCode }: Api, span: Span, kind: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', kind)
}

function kindOf(error: unknown): string {
  if (error instanceof PoppyError) return error.code
  if (error instanceof FetchRefused) return error.reason
  // A name is a word; anything longer could be something else.
  return error instanceof Error && /^[A-Za-z]{1,64}$/.test(error.name) ? error.name : '_OTHER'
}
