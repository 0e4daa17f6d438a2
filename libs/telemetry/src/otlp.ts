import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Metrics } from '@toolfabric/kernel';

/** Spans that wait for the collector, and spans of one request to it. */
const MOST_WAITING = 2_048;
const MOST_SPANS = 512;
/** Milliseconds for one request, its retries included; meanwhile no other one is sent. */
const EXPORT_MS = 5_000;
const EVERY_MS = 2_000;

/** The same exporter, with its outcomes counted. */
const counted = (exporter: SpanExporter, metrics: Metrics, left: (spans: number) => void): SpanExporter => ({
  export(spans, done) {
    left(spans.length);
    exporter.export(spans, (result) => {
      const outcome = result.code === 0 ? 'exported' : 'failed';
      metrics.count('toolfabric_otlp_spans_total', { outcome }, spans.length);
      done(result);
    });
  },
  shutdown: () => exporter.shutdown(),
  ...(exporter.forceFlush === undefined ? {} : { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
});

/**
 * Spans to an OTLP collector, as protobuf over HTTP. A collector that is slow or gone costs a bounded queue and one
 * request at a time: what does not fit is dropped and counted, and no call waits for it.
 */
export const otlpProcessor = (endpoint: string, metrics: Metrics): SpanProcessor => {
  const exporter = new OTLPTraceExporter({
    url: new URL('v1/traces', endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href,
    timeoutMillis: EXPORT_MS,
    concurrencyLimit: 1,
  });
  let waiting = 0;
  const batches = new BatchSpanProcessor({
    exporter: counted(exporter, metrics, (spans) => {
      waiting -= spans;
    }),
    maxQueueSize: MOST_WAITING,
    maxExportBatchSize: MOST_SPANS,
    scheduledDelayMillis: EVERY_MS,
    exportTimeoutMillis: EXPORT_MS,
  });
  return {
    onStart: () => {},
    onEnd(span: ReadableSpan) {
      if (waiting >= MOST_WAITING) return metrics.count('toolfabric_otlp_spans_total', { outcome: 'dropped' });
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
};
