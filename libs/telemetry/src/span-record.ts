import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { SpanRecord } from '@toolfabric/contract';
import { SPAN } from '@toolfabric/kernel';

/** By the numbers of `SpanKind` and `SpanStatusCode`. */
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUS = ['unset', 'ok', 'error'] as const;

/** Characters of a name, and of the text of one attribute. */
const MOST_CHARACTERS = 200;

const microseconds = ([seconds, nanoseconds]: ReadableSpan['startTime']): number =>
  seconds * 1e6 + Math.round(nanoseconds / 1000);

const plain = (attributes: ReadableSpan['attributes']): SpanRecord['attributes'] => {
  const kept: SpanRecord['attributes'] = {};
  for (const key in attributes) {
    const value = attributes[key];
    if (key === SPAN.tenant || key === SPAN.callId) continue;
    if (typeof value === 'string') kept[key] = value.slice(0, MOST_CHARACTERS);
    else if (typeof value === 'number' || typeof value === 'boolean') kept[key] = value;
  }
  return kept;
};

/** An ended span as it goes over the bus. Lists, events and links of it stay behind. */
export const spanRecord = (span: ReadableSpan, service: string): SpanRecord => {
  const { traceId, spanId } = span.spanContext();
  const parent = span.parentSpanContext?.spanId;
  const callId = span.attributes[SPAN.callId];
  return {
    traceId,
    spanId,
    ...(parent === undefined ? {} : { parentSpanId: parent }),
    name: span.name.slice(0, MOST_CHARACTERS),
    kind: KINDS[span.kind] ?? 'internal',
    service,
    ...(typeof callId === 'string' ? { callId } : {}),
    startUs: microseconds(span.startTime),
    endUs: microseconds(span.endTime),
    status: STATUS[span.status.code] ?? 'unset',
    attributes: plain(span.attributes),
  };
};
