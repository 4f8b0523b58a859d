import type {
  Attributes,
  Counter,
  Histogram,
  MeterProvider,
  ObservableGauge,
  ObservableResult,
  ObservableUpDownCounter,
  Span,
  SpanContext,
} from '@opentelemetry/api'

/**
 * Spans and metrics of work that no request waits for: turns of the Company Agent, waits for a person, and webhooks. Each is a
 * trace of its own, for it may begin in one process and go on in another. Nothing here has words of people, accounts or User
 * IDs; metrics have no label that a stranger can multiply.
 */

type Api = typeof import('@opentelemetry/api')

/** The request that made a turn due, where it is known: the turn's span has a link to it. */
export type Cause = SpanContext

/** How a turn was left. `stopped`: the Company closes, and another instance goes on. `lost`: it was taken away. */
export type TurnOutcome = 'answered' | 'handed_off' | 'closed' | 'failed' | 'too_long' | 'given_up' | 'stopped' | 'lost'

/** A turn, before it runs. */
export interface TurnAbout {
  readonly conversationId: string
  /** The host of the Personal Agent; left out where that isn't known. */
  readonly client: string | undefined
  /** 1 where it wasn't begun before. */
  readonly attempt: number
  readonly cause: Cause | undefined
}

/** A wait for a person (7.9) that is over. Times in milliseconds since 1970. */
export interface HandoffAbout {
  readonly conversationId: string
  readonly since: number
  readonly until: number
  readonly outcome: 'taken' | 'nobody_came' | 'closed'
}

/** One try to deliver a webhook. */
export interface DeliveryAbout {
  /** The name that the company gave it. */
  readonly webhook: string
  readonly event: string
  readonly host: string
  readonly attempt: number
}

/** What came of a try. */
export interface DeliveryEnd {
  readonly outcome: 'taken' | 'failed' | 'given_up'
  /** What was answered; left out where nothing was. */
  readonly status?: number | undefined
  /** What went wrong, in a word. */
  readonly why?: string | undefined
}

/** What is looked at when metrics are collected. */
export interface Gauges {
  /** Turns that run in this process. */
  readonly turns: () => number
  /** Streams that are open in this process. */
  readonly streams: () => number
  /** Conversations that wait for a person, in the store. */
  readonly waiting: () => Promise<number>
}

/** See {@link createWork}. */
export interface Work {
  /** What is active where this is called. */
  readonly cause: () => Cause | undefined
  readonly turn: <T>(about: TurnAbout, run: () => Promise<T>, outcomeOf: (end: T) => TurnOutcome) => Promise<T>
  readonly handoff: (about: HandoffAbout) => void
  readonly delivery: <T>(about: DeliveryAbout, run: () => Promise<T>, endOf: (end: T) => DeliveryEnd) => Promise<T>
  /** Has this looked at from now on; ends with what comes back. */
  readonly observe: (gauges: Gauges) => () => void
}

interface Instruments {
  readonly provider: MeterProvider
  readonly turns: Histogram
  readonly handoffs: Histogram
  readonly deliveries: Counter
  readonly activeTurns: ObservableUpDownCounter
  readonly activeStreams: ObservableUpDownCounter
  readonly waiting: ObservableGauge
}

/** Seconds: a turn has two minutes, unless the company says otherwise; a person has hours. */
const turnBoundaries = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300]
const handoffBoundaries = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]

/** Outcomes that whoever runs the Company has to look at. */
const failures: ReadonlySet<string> = new Set(['failed', 'too_long', 'given_up'])

/** What `createOpenTelemetry` shares with it. */
export interface WorkParts {
  readonly api: Api
  /** The host of the Company: tells Companies of one process apart. */
  readonly host: string
  readonly within: <T>(span: Span, run: () => T) => T
  readonly fail: (span: Span, kind: string) => void
  readonly kindOf: (error: unknown) => string
}

/** Makes the watch over it. */
export function createWork({ api, host, within, fail, kindOf }: WorkParts): Work {
  const { metrics, ROOT_CONTEXT, SpanKind, trace } = api
  const tracer = trace.getTracer('poppyseed')
  const all = new Set<Gauges>()
  let instruments: Instruments | undefined

  function current(): Instruments {
    const provider = metrics.getMeterProvider()
    if (instruments?.provider === provider) return instruments
    const meter = provider.getMeter('poppyseed')
    instruments = {
      provider,
      turns: meter.createHistogram('poppy.turn.duration', {
        unit: 's',
        description: 'How long turns of the company’s agent took, from their claim to their end.',
        advice: { explicitBucketBoundaries: turnBoundaries },
      }),
      handoffs: meter.createHistogram('poppy.handoff.duration', {
        unit: 's',
        description: 'How long conversations waited for a person.',
        advice: { explicitBucketBoundaries: handoffBoundaries },
      }),
      deliveries: meter.createCounter('poppy.webhook.deliveries', { description: 'Tries to deliver a webhook.' }),
      activeTurns: meter.createObservableUpDownCounter('poppy.turn.active', {
        description: 'Turns that run in this process.',
      }),
      activeStreams: meter.createObservableUpDownCounter('poppy.stream.active', {
        description: 'Streams of conversations that are open in this process.',
      }),
      waiting: meter.createObservableGauge('poppy.handoff.waiting', {
        description: 'Conversations that wait for a person. Each instance tells the same number.',
      }),
    }
    // Looked at when it is collected: an SDK that came later knows what runs already.
    instruments.activeTurns.addCallback((result) => look(result, ({ turns }) => turns()))
    instruments.activeStreams.addCallback((result) => look(result, ({ streams }) => streams()))
    instruments.waiting.addCallback((result) => look(result, ({ waiting }) => waiting()))
    return instruments
  }

  async function look(result: ObservableResult, of: (gauges: Gauges) => number | Promise<number>): Promise<void> {
    if (all.size === 0) return
    let sum = 0
    // A store that doesn't answer has no number: none is told, and `company.health()` says why.
    for (const gauges of all) sum += await of(gauges)
    result.observe(sum, { 'server.address': host })
  }

  /** Runs something in a trace of its own. */
  async function alone<T>(
    span: Span,
    run: () => Promise<T>,
    told: (end: T) => { readonly attributes: Attributes; readonly failure: string | null },
    failed: (kind: string) => void,
  ): Promise<T> {
    try {
      const end = await within(span, run)
      const { attributes, failure } = told(end)
      span.setAttributes(attributes)
      if (failure !== null) fail(span, failure)
      return end
    } catch (error) {
      const kind = kindOf(error)
      fail(span, kind)
      failed(kind)
      throw error
    } finally {
      span.end()
    }
  }

  return {
    cause: () => trace.getActiveSpan()?.spanContext(),

    turn({ conversationId, client, attempt, cause }, run, outcomeOf) {
      const { turns } = current()
      const started = performance.now()
      const span = tracer.startSpan(
        'turn',
        {
          kind: SpanKind.INTERNAL,
          links: cause === undefined ? [] : [{ context: cause }],
          attributes: {
            'poppy.conversation.id': conversationId,
            'poppy.turn.attempt': attempt,
            ...(client === undefined ? {} : { 'poppy.client.host': client }),
          },
        },
        ROOT_CONTEXT,
      )
      const record = (outcome: string) =>
        turns.record((performance.now() - started) / 1000, { 'poppy.outcome': outcome })
      return alone(
        span,
        run,
        (end) => {
          const outcome = outcomeOf(end)
          record(outcome)
          return { attributes: { 'poppy.outcome': outcome }, failure: failures.has(outcome) ? outcome : null }
        },
        () => record('server_error'),
      )
    },

    handoff({ conversationId, since, until, outcome }) {
      const attributes = { 'poppy.outcome': outcome }
      current().handoffs.record(Math.max(0, until - since) / 1000, attributes)
      tracer
        .startSpan(
          'handoff',
          { startTime: since, attributes: { ...attributes, 'poppy.conversation.id': conversationId } },
          ROOT_CONTEXT,
        )
        .end(Math.max(since, until))
    },

    delivery({ webhook, event, host: address, attempt }, run, endOf) {
      const { deliveries } = current()
      const about = { 'poppy.webhook.name': webhook, 'poppy.webhook.event': event }
      const span = tracer.startSpan(
        'POST',
        {
          kind: SpanKind.CLIENT,
          attributes: {
            ...about,
            'http.request.method': 'POST',
            'server.address': address,
            // The convention counts from the second on.
            ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
          },
        },
        ROOT_CONTEXT,
      )
      return alone(
        span,
        run,
        (end) => {
          const { outcome, status, why } = endOf(end)
          deliveries.add(1, { ...about, 'poppy.outcome': outcome })
          return {
            attributes: {
              'poppy.outcome': outcome,
              ...(status === undefined ? {} : { 'http.response.status_code': status }),
            },
            failure: outcome === 'taken' ? null : status === undefined ? (why ?? '_OTHER') : String(status),
          }
        },
        () => deliveries.add(1, { ...about, 'poppy.outcome': 'failed' }),
      )
    },

    observe(gauges) {
      all.add(gauges)
      current()
      return () => void all.delete(gauges)
    },
  }
}
