import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type ContextManager, context, metrics, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

/** OpenTelemetry's own SDK, as a host would set it up, with everything kept in memory. */

/** Hands the active span on with the asynchronous call, as the SDK for Node does. */
class CallContext implements ContextManager {
  readonly #here = new AsyncLocalStorage<Context>()
  active(): Context {
    return this.#here.getStore() ?? ROOT_CONTEXT
  }
  with<Args extends unknown[], F extends (...args: Args) => ReturnType<F>>(
    to: Context,
    run: F,
    self?: ThisParameterType<F>,
    ...args: Args
  ): ReturnType<F> {
    return this.#here.run(to, () => run.call(self as never, ...args))
  }
  bind<T>(_to: Context, target: T): T {
    return target
  }
  enable(): this {
    return this
  }
  disable(): this {
    return this
  }
}

export interface Point {
  readonly attributes: Record<string, unknown>
  readonly value: unknown
}

export interface WatchedTelemetry {
  readonly spans: () => readonly ReadableSpan[]
  /** The points of each instrument by name, as they are now. */
  readonly points: () => Promise<Record<string, readonly Point[]>>
  /** Everything that would leave the process, as text. */
  readonly dump: () => Promise<string>
}

/** Registers an SDK for this test. */
export function watchTelemetry(): WatchedTelemetry {
  const exporter = new InMemorySpanExporter()
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 })
  const meters = new MeterProvider({ readers: [reader] })
  context.setGlobalContextManager(new CallContext())
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  metrics.setGlobalMeterProvider(meters)
  onTestFinished(async () => {
    for (const api of [context, trace, metrics]) api.disable()
    await meters.shutdown()
  })
  const points = async () => {
    await reader.forceFlush()
    const last = metricExporter.getMetrics().at(-1)
    const all = (last?.scopeMetrics ?? []).flatMap((scope) => scope.metrics)
    return Object.fromEntries(
      all.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) => ({ attributes: { ...attributes }, value: value as unknown })),
      ]),
    )
  }
  return {
    spans: () => exporter.getFinishedSpans(),
    points,
    dump: async () =>
      [
        ...exporter
          .getFinishedSpans()
          .map(({ name, kind, attributes, status, events, links, resource }) =>
            JSON.stringify({ name, kind, attributes, status, events, links, resource: resource.attributes }),
          ),
        JSON.stringify(await points()),
      ].join('\n'),
  }
}
