import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { FabricEvent, SpanRecord } from '@toolfabric/contract';
import { type Metrics, randomId, SPAN } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import { spanRecord } from './span-record.ts';

/** What one message holds at most. */
const MOST_SPANS = 200;
const MOST_BYTES = 48 * 1024;
/** Spans that wait; what comes while it is full is dropped and counted. */
const MOST_WAITING = 4_096;
const EVERY_MS = 1_000;
/** Beside the spans of a message, and beside each span in it. */
const FRAME_BYTES = 512;

export interface SpanEventsOptions {
  readonly service: string;
  readonly events: Pick<EventLog, 'emit'>;
  readonly metrics: Metrics;
  readonly now: () => number;
}

/**
 * Ended spans that name a tenant, as `trace.spans` events: batched for each tenant, so that a message holds spans of
 * one tenant only. Ending a span only appends to a list; the rest happens once a second, or when a message is full.
 */
export class SpanEvents implements SpanProcessor {
  readonly #options: SpanEventsOptions;
  /** Unique for this start of the process. */
  readonly #id = randomId();
  readonly #timer: NodeJS.Timeout;
  #waiting = new Map<string, ReadableSpan[]>();
  #count = 0;
  #sent = 0;

  constructor(options: SpanEventsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#flush(), EVERY_MS);
    this.#timer.unref();
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const tenant = span.attributes[SPAN.tenant];
    if (typeof tenant !== 'string' || (span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.#count >= MOST_WAITING) {
      this.#options.metrics.count('toolfabric_spans_dropped_total', {});
      return;
    }
    this.#count += 1;
    const spans = this.#waiting.get(tenant);
    if (spans === undefined) this.#waiting.set(tenant, [span]);
    else if (spans.push(span) === MOST_SPANS) setImmediate(() => this.#send(tenant));
  }

  async forceFlush(): Promise<void> {
    this.#flush();
  }

  async shutdown(): Promise<void> {
    clearInterval(this.#timer);
    this.#flush();
  }

  #flush(): void {
    for (const tenant of [...this.#waiting.keys()]) this.#send(tenant);
  }

  #send(tenant: string): void {
    const spans = this.#waiting.get(tenant) ?? [];
    this.#waiting.delete(tenant);
    this.#count -= spans.length;
    this.#options.metrics.count('toolfabric_spans_ended_total', {}, spans.length);
    let batch: SpanRecord[] = [];
    let bytes = FRAME_BYTES;
    for (const span of spans) {
      const record = spanRecord(span, this.#options.service);
      const size = Buffer.byteLength(JSON.stringify(record)) + 1;
      if (batch.length === MOST_SPANS || bytes + size > MOST_BYTES) {
        this.#emit(tenant, batch);
        batch = [];
        bytes = FRAME_BYTES;
      }
      batch.push(record);
      bytes += size;
    }
    if (batch.length > 0) this.#emit(tenant, batch);
  }

  #emit(tenant: string, spans: SpanRecord[]): void {
    const { service, events, now } = this.#options;
    this.#sent += 1;
    const event: FabricEvent = {
      id: `${this.#id}:spans.${this.#sent}`,
      type: 'trace.spans',
      service,
      tenant,
      at: now(),
      attributes: {},
      spans,
    };
    events.emit(event);
  }
}
