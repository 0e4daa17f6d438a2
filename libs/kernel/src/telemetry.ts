import { type Tracer, trace } from '@opentelemetry/api';
import type { LabelsOf, MetricOf } from '@toolfabric/contract';

/** Numbers about this process; names and labels are rows of the metric table. Nothing here throws or waits. */
export interface Metrics {
  count<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>, by?: number): void;
  observe<N extends MetricOf<'histogram'>>(name: N, value: number, labels: LabelsOf<N>): void;
  /** `read` is asked at each scrape; a second one with the same labels takes the place of the first. */
  gauge<N extends MetricOf<'gauge'>>(name: N, labels: LabelsOf<N>, read: () => number): void;
}

/** How a service is watched: handed to it by its composition root. */
export interface Telemetry {
  readonly tracer: Tracer;
  readonly metrics: Metrics;
}

export const noMetrics: Metrics = { count: () => {}, observe: () => {}, gauge: () => {} };

/** Costs nothing: no spans but those of a provider that somebody registered globally, and no numbers. */
export const noTelemetry: Telemetry = { tracer: trace.getTracer('toolfabric'), metrics: noMetrics };
