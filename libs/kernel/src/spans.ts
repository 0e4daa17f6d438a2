import { type Attributes, type Span, type SpanContext, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { SpanStarter } from './telemetry.ts';

/**
 * Names of the fabric's own attributes. What has a name in the OpenTelemetry conventions is called by that. A value is
 * never an argument, a result, or the content of a file.
 */
export const SPAN = {
  /** Without it a span does not go to the trace store. */
  tenant: 'toolfabric.tenant',
  callId: 'toolfabric.call.id',
  taskId: 'toolfabric.task.id',
  toolVersion: 'toolfabric.tool.version',
  kind: 'toolfabric.kind',
  state: 'toolfabric.call.state',
  sideEffect: 'toolfabric.side_effect',
  attempt: 'toolfabric.attempt',
  turn: 'toolfabric.turn',
  rule: 'toolfabric.policy.rule',
  policyVersion: 'toolfabric.policy.version',
  approval: 'toolfabric.approval',
  unknown: 'toolfabric.unknown',
  truncated: 'toolfabric.truncated',
  queueMs: 'toolfabric.queue_ms',
  errorType: 'error.type',
} as const;

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** W3C trace context; undefined for what is broken, which its standard says to leave out. */
export const parseTraceparent = (text: string | undefined): SpanContext | undefined => {
  const [, traceId, spanId, flags] = (text && TRACEPARENT.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
};

export const traceIdOf = (traceparent: string | undefined): string => parseTraceparent(traceparent)?.traceId ?? '';

/** What the next hop is given; undefined while nobody traces and no context came in. */
export const traceparentOf = (span: Span): string | undefined => {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (traceId === NO_TRACE) return undefined;
  return `00-${traceId}-${spanId}-${(traceFlags & 1) === 1 ? '01' : '00'}`;
};

export interface SpanStart {
  readonly kind?: SpanKind;
  /** Of the hop before; without one a trace begins here. */
  readonly traceparent?: string | undefined;
  readonly attributes: Attributes;
  /** Milliseconds since the epoch; now when left out. */
  readonly startTime?: number;
}

export const startSpan = (tracer: SpanStarter, name: string, { traceparent, ...options }: SpanStart): Span =>
  tracer.start(name, options, parseTraceparent(traceparent));

/** `error` is a type of the error table. */
export const endSpan = (span: Span, error?: string): void => {
  if (error !== undefined) {
    span.setAttribute(SPAN.errorType, error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
};

export { type Span, SpanKind };
