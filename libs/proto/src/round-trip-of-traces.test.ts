import { ArtifactRecord, PayloadRecord, SpanRecord, TraceCall, TraceEvent } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { artifactFromWire, artifactToWire } from './convert-artifact.ts';
import {
  tracedCallFromWire,
  tracedCallToWire,
  tracedEventFromWire,
  tracedEventToWire,
  tracedPayloadFromWire,
  tracedPayloadToWire,
  tracedSpanFromWire,
  tracedSpanToWire,
} from './convert-trace.ts';
import * as wireArtifact from './gen/toolfabric/v1/artifact.ts';
import * as wireTrace from './gen/toolfabric/v1/trace_service.ts';

const RUNS = { numRuns: 300 };
const text = fc.string({ maxLength: 40, unit: 'grapheme' });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(required: T, others: typeof required | object) =>
  fc.record({ ...required, ...others } as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: Object.keys(required) as never[],
  });

const duration = fc.double({ min: 0, max: 1e12, noNaN: true });

const label = fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' });

const SPAN: SpanRecord = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  name: 'n',
  kind: 'internal',
  service: 's',
  startUs: 1,
  endUs: 2,
  status: 'ok',
  attributes: {},
};

describe('artifacts and traces on the wire', () => {
  it('FD-6: an artifact comes back from the wire as it was', () => {
    const id = fc.stringMatching(/^a-[0-9a-hjkmnp-tv-z]{26}$/);
    const share = optional({ user: text }, { agent: text });
    const artifact = optional(
      {
        id,
        owner: fc.record({ tenant: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/), user: label, agent: label }),
        taskId: text,
        callId: text,
        name: label,
        mediaType: text,
        size: count,
        state: fc.constantFrom('live', 'complete'),
        dropped: count,
        trust: fc.constantFrom('trusted', 'untrusted'),
        pinned: fc.boolean(),
        sharedWith: fc.array(share, { maxLength: 3 }),
        createdAt: count,
        expiresAt: count,
      },
      { sha256: hex, gapAt: count },
    ).map((value) => ArtifactRecord.parse(value));
    fc.assert(
      fc.property(artifact, (record) => {
        const bytes = wireArtifact.Artifact.encode(artifactToWire(record)).finish();
        expect(artifactFromWire(wireArtifact.Artifact.decode(bytes))).toStrictEqual(record);
      }),
      RUNS,
    );
  });

  it('TR-1: what a trace tells comes back from the wire as it was; numbers among attributes become text', () => {
    const plain = fc.dictionary(label, text, { noNullPrototype: true }).map((value) => ({ ...value }));
    const traced = fc.record({
      call: fc
        .record({
          ...{ callId: text, taskId: text, user: text, agent: text, tool: text, version: text, state: text },
          ...{ sideEffect: text, errorType: text, rule: text, attempt: fc.nat(), acceptedAt: count, settledAt: count },
          ...{ durationMs: duration, truncated: fc.boolean(), artifacts: fc.nat(), turn: fc.nat(), attributes: plain },
        })
        .map((value) => TraceCall.parse(value)),
      event: fc
        .record({ id: text, type: text, service: text, at: count, attributes: plain })
        .map((value) => TraceEvent.parse(value)),
      span: optional(
        {
          traceId: fc.stringMatching(/^[0-9a-f]{32}$/),
          spanId: fc.stringMatching(/^[0-9a-f]{16}$/),
          name: text,
          kind: fc.constantFrom(...SpanRecord.shape.kind.options),
          service: text,
          startUs: count,
          endUs: count,
          status: fc.constantFrom(...SpanRecord.shape.status.options),
          attributes: plain,
        },
        { parentSpanId: fc.stringMatching(/^[0-9a-f]{16}$/) },
      ).map((value) => SpanRecord.parse(value)),
      payload: fc
        .record({
          kind: fc.constantFrom(...PayloadRecord.shape.kind.options),
          ...{ sha256: hex, bytes: count, text, cut: fc.boolean() },
        })
        .map((value) => PayloadRecord.parse(value)),
    });
    fc.assert(
      fc.property(traced, ({ call, event, span, payload }) => {
        const message = {
          call: tracedCallToWire(call),
          events: [tracedEventToWire(event)],
          spans: [tracedSpanToWire(span)],
          payloads: [tracedPayloadToWire(payload)],
          cut: false,
        };
        const back = wireTrace.GetTraceResponse.decode(wireTrace.GetTraceResponse.encode(message).finish());
        expect(back.call && tracedCallFromWire(back.call)).toStrictEqual(call);
        expect(back.events.map(tracedEventFromWire)).toStrictEqual([event]);
        expect(back.spans.map(tracedSpanFromWire)).toStrictEqual([span]);
        expect(back.payloads.map(tracedPayloadFromWire)).toStrictEqual([payload]);
      }),
      RUNS,
    );
    const counted = tracedSpanToWire({ ...SPAN, attributes: { epoch: 2, late: true } });
    expect(counted.attributes).toEqual({ epoch: '2', late: 'true' });
  });
});
