import {
  type Attributes,
  type AttributeValue,
  type HrTime,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  RandomIdGenerator,
  type ReadableSpan,
  SamplingDecision,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { SpanStarter } from '@toolfabric/kernel';

const MOST_ATTRIBUTES = 32;
const MOST_CHARACTERS = 256;
const UNSET: SpanStatus = { code: SpanStatusCode.UNSET };
const NONE: never[] = [];
const SCOPE = { name: 'toolfabric' };

const hrTime = (ms: number): HrTime => {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
};

/** A span with attributes and a status. Events, links and exceptions, which nobody here records, are left out. */
class RecordedSpan implements Span, ReadableSpan {
  readonly kind: SpanKind;
  readonly attributes: Attributes = {};
  readonly resource: Resource;
  readonly instrumentationScope = SCOPE;
  readonly links = NONE;
  readonly events = NONE;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly parentSpanContext?: SpanContext;
  name: string;
  status = UNSET;
  droppedAttributesCount = 0;
  ended = false;
  readonly #context: SpanContext;
  readonly #onEnd: (span: ReadableSpan) => void;
  readonly #startMs: number;
  /** Of the monotonic clock; none for a span that began in the past. */
  readonly #began: number | undefined;
  #endMs = 0;
  #count = 0;

  constructor(
    name: string,
    { kind = SpanKind.INTERNAL, attributes, startTime }: SpanOptions,
    context: SpanContext,
    parent: SpanContext | undefined,
    { resource, onEnd }: { readonly resource: Resource; onEnd(span: ReadableSpan): void },
  ) {
    this.name = name;
    this.kind = kind;
    this.resource = resource;
    if (parent !== undefined) this.parentSpanContext = parent;
    this.#context = context;
    this.#onEnd = onEnd;
    this.#startMs = typeof startTime === 'number' ? startTime : Date.now();
    this.#began = startTime === undefined ? performance.now() : undefined;
    if (attributes !== undefined) this.setAttributes(attributes);
  }

  get startTime(): HrTime {
    return hrTime(this.#startMs);
  }

  get endTime(): HrTime {
    return hrTime(this.#endMs);
  }

  get duration(): HrTime {
    return hrTime(Math.max(0, this.#endMs - this.#startMs));
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (this.ended) return this;
    if (!Object.hasOwn(this.attributes, key)) {
      if (this.#count >= MOST_ATTRIBUTES) {
        this.droppedAttributesCount += 1;
        return this;
      }
      this.#count += 1;
    }
    this.attributes[key] = typeof value === 'string' ? value.slice(0, MOST_CHARACTERS) : value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    for (const key in attributes) {
      const value = attributes[key];
      if (value !== undefined) this.setAttribute(key, value);
    }
    return this;
  }

  setStatus(status: SpanStatus): this {
    if (!this.ended) this.status = status;
    return this;
  }

  updateName(name: string): this {
    if (!this.ended) this.name = name;
    return this;
  }

  end(): void {
    if (this.ended) return;
    const passed = this.#began === undefined ? Date.now() - this.#startMs : performance.now() - this.#began;
    this.#endMs = this.#startMs + Math.max(0, passed);
    this.ended = true;
    this.#onEnd(this);
  }

  isRecording(): boolean {
    return !this.ended;
  }

  addEvent(): this {
    return this;
  }

  addLink(): this {
    return this;
  }

  addLinks(): this {
    return this;
  }

  recordException(): void {}
}

export interface SpanRecorderOptions {
  readonly resource: Resource;
  /** Share of the traces that begin here which are recorded; others are recorded when their parent is. */
  readonly sampling: number;
  readonly processors: readonly SpanProcessor[];
}

/**
 * Makes the spans of one service. The provider of the library does the same for what any program may ask of it, at
 * several times the price, which every step of every call would pay.
 */
export const createSpanRecorder = ({ resource, sampling, processors }: SpanRecorderOptions): SpanStarter => {
  const ids = new RandomIdGenerator();
  const sampler = new TraceIdRatioBasedSampler(sampling);
  const onEnd = (span: ReadableSpan) => {
    for (const processor of processors) processor.onEnd(span);
  };
  const parts = { resource, onEnd };
  const isSampled = (traceId: string, parent: SpanContext | undefined): boolean =>
    parent === undefined
      ? sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
      : (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
  return {
    start(name, options, parent) {
      const traceId = parent?.traceId ?? ids.generateTraceId();
      const traceFlags = isSampled(traceId, parent) ? TraceFlags.SAMPLED : TraceFlags.NONE;
      const context = { traceId, spanId: ids.generateSpanId(), traceFlags };
      if (traceFlags === TraceFlags.NONE) return trace.wrapSpanContext(context);
      return new RecordedSpan(name, options, context, parent, parts);
    },
  };
};
