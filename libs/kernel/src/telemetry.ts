import { ROOT_CONTEXT, type Span, type SpanContext, type SpanOptions, trace } from '@opentelemetry/api';
import type { LabelsOf, MetricOf } from '@toolfabric/contract';

/** Numbers about this process; names and labels are rows of the metric table. Nothing here throws or waits. */
export interface Metrics {
  count<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>, by?: number): void;
  observe<N extends MetricOf<'histogram'>>(name: N, value: number, labels: LabelsOf<N>): void;
  /** `read` is asked at each scrape; a second one with the same labels takes the place of the first. */
  gauge<N extends MetricOf<'gauge'>>(name: N, labels: LabelsOf<N>, read: () => number): void;
}

/** Makes spans. The context is handed on by hand, in `traceparent`: it costs less than a store for asynchronous context. */
export interface SpanStarter {
  /** Without a parent a trace begins here. */
  start(name: string, options: SpanOptions, parent: SpanContext | undefined): Span;
}

/** How a service is watched: handed to it by its composition root. */
export interface Telemetry {
  readonly tracer: SpanStarter;
  readonly metrics: Metrics;
}

export const noMetrics: Metrics = { count: () => {}, observe: () => {}, gauge: () => {} };

const globalTracer = trace.getTracer('toolfabric');

/** Costs nothing: no spans but those of a provider that somebody registered globally, and no numbers. */
export const noTelemetry: Telemetry = {
  tracer: {
    start: (name, options, parent) =>
      globalTracer.startSpan(
        name,
        options,
        parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
      ),
  },
  metrics: noMetrics,
};
