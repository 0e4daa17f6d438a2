import { PayloadRecord, SpanRecord, type TraceCall, type TraceDecision, type TraceEvent } from '@toolfabric/contract';
import { WireMismatch } from './enum-codec.ts';
import type * as wire from './gen/toolfabric/v1/trace_service.ts';

const oneOf = <Label extends string>(what: string, labels: readonly Label[], said: string): Label => {
  const label = labels.find((known) => known === said);
  if (label === undefined) throw new WireMismatch(`no ${what} that is known here`);
  return label;
};

const textOf = (attributes: SpanRecord['attributes']): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, String(value)]));

export const tracedCallToWire = ({ acceptedAt, settledAt, ...call }: TraceCall): wire.TracedCall => ({
  ...call,
  acceptedAtMs: acceptedAt,
  settledAtMs: settledAt,
});

export const tracedCallFromWire = ({ acceptedAtMs, settledAtMs, ...call }: wire.TracedCall): TraceCall => ({
  ...call,
  acceptedAt: acceptedAtMs,
  settledAt: settledAtMs,
});

export const tracedDecisionToWire = ({ at, ...decision }: TraceDecision): wire.TracedDecision => ({
  ...decision,
  atMs: at,
});
export const tracedDecisionFromWire = ({ atMs, ...decision }: wire.TracedDecision): TraceDecision => ({
  ...decision,
  at: atMs,
});

export const tracedEventToWire = ({ at, ...event }: TraceEvent): wire.TracedEvent => ({ ...event, atMs: at });
export const tracedEventFromWire = ({ atMs, ...event }: wire.TracedEvent): TraceEvent => ({ ...event, at: atMs });

/** Numbers and flags among the attributes become text: a trace is for reading. */
export const tracedSpanToWire = ({ callId, parentSpanId, ...span }: SpanRecord): wire.TracedSpan => ({
  ...span,
  parentSpanId,
  attributes: textOf(span.attributes),
});

export const tracedSpanFromWire = ({ parentSpanId, kind, status, ...span }: wire.TracedSpan): SpanRecord => ({
  ...span,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  kind: oneOf('kind of span', SpanRecord.shape.kind.options, kind),
  status: oneOf('status of a span', SpanRecord.shape.status.options, status),
});

export const tracedPayloadToWire = (payload: PayloadRecord): wire.TracedPayload => ({ ...payload });
export const tracedPayloadFromWire = ({ kind, ...payload }: wire.TracedPayload): PayloadRecord => ({
  ...payload,
  kind: oneOf('kind of payload', PayloadRecord.shape.kind.options, kind),
});
