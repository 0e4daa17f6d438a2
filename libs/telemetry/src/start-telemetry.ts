import { resourceFromAttributes } from '@opentelemetry/resources';
import type { MetricRole } from '@toolfabric/contract';
import { noTelemetry, type Telemetry } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import { countEvents } from './count-events.ts';
import { laterEvents } from './later-events.ts';
import { LaterWork } from './later-work.ts';
import { otlpProcessor } from './otlp.ts';
import { createMetrics, type ServedMetrics } from './prometheus.ts';
import type { TelemetrySettings } from './settings.ts';
import { SpanEvents } from './span-events.ts';
import { createSpanRecorder } from './span-recorder.ts';

export interface TelemetryOptions {
  /** As in the subjects of its events: `gateway`, `router`, `worker-<pool>` … */
  readonly service: string;
  readonly role: MetricRole;
  readonly settings: TelemetrySettings;
  /** The service's own; spans go there too. */
  readonly events: EventLog;
  readonly isConnected: () => boolean;
  readonly now?: () => number;
}

export interface RunningTelemetry extends Telemetry {
  /** The log that was given, counted; what is emitted goes out within a tenth of a second. */
  readonly events: EventLog;
  metricsText(): Promise<string>;
  /** Work for the trace that nobody waits for: done within a moment, and before the end. It must not reject. */
  later(work: () => Promise<void>): void;
  /**
   * Hands over what waits: to the event log at once, to a collector for two seconds at most. Comes after the last call
   * has ended and before the bus is closed. Never rejects; safe to call twice.
   */
  shutdown(): Promise<void>;
}

const SHUTDOWN_MS = 2_000;

const within = async (work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, SHUTDOWN_MS);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
};

const startTracing = (options: TelemetryOptions, metrics: ServedMetrics, events: EventLog) => {
  const { service, settings, now = Date.now } = options;
  if (settings.sampling === 0) return { tracer: noTelemetry.tracer, shutdown: async () => {} };
  const { otlpEndpoint } = settings;
  const processors = [
    new SpanEvents({ service, events, metrics, now }),
    ...(otlpEndpoint === undefined ? [] : [otlpProcessor(otlpEndpoint, metrics)]),
  ];
  const resource = resourceFromAttributes({ 'service.name': service, 'service.namespace': 'toolfabric' });
  const tracer = createSpanRecorder({ resource, sampling: settings.sampling, processors });
  return { tracer, shutdown: () => within(Promise.all(processors.map((processor) => processor.shutdown()))) };
};

/**
 * One recorder of spans and one registry a service. Neither is registered globally: several services may share a process, and
 * each is handed its own.
 */
export const startTelemetry = (options: TelemetryOptions): RunningTelemetry => {
  const metrics = createMetrics(options.role);
  metrics.gauge('toolfabric_bus_connected', {}, () => (options.isConnected() ? 1 : 0));
  const counted = countEvents(options.events, options.isConnected, metrics);
  const events = laterEvents(counted);
  const { tracer, shutdown } = startTracing(options, metrics, counted);
  const later = new LaterWork();
  const end = async () => {
    await within(later.flush());
    await shutdown();
    events.close();
    metrics.stop();
  };
  let stopping: Promise<void> | undefined;
  return {
    tracer,
    metrics,
    events,
    metricsText: () => metrics.text(),
    later: later.add,
    shutdown: () => (stopping ??= end()),
  };
};
