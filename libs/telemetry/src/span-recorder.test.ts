import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { createSpanRecorder } from './span-recorder.ts';

const open = (sampling = 1) => {
  const ended: ReadableSpan[] = [];
  const processor = {
    onStart: () => {},
    onEnd: (span: ReadableSpan) => void ended.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const recorder = createSpanRecorder({ resource: resourceFromAttributes({}), sampling, processors: [processor] });
  return { ended, recorder };
};

const parent = (traceFlags: number) => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags });
const milliseconds = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1000 + nanoseconds / 1e6;

describe('a span', () => {
  it('goes on with the trace of its parent, under an id of its own', () => {
    const { ended, recorder } = open();
    recorder.start('a', {}, parent(1)).end();
    const [span] = ended;
    expect(span?.spanContext().traceId).toBe('1'.repeat(32));
    expect(span?.spanContext().spanId).not.toBe('2'.repeat(16));
    expect(span?.parentSpanContext?.spanId).toBe('2'.repeat(16));
  });

  it('is recorded when its parent is, whatever share of new traces is', () => {
    const { ended, recorder } = open(0.000_001);
    recorder.start('a', {}, parent(1)).end();
    recorder.start('a', {}, parent(0)).end();
    expect(ended).toHaveLength(1);
  });

  it('says when it began and ended, now or in the past', () => {
    const { ended, recorder } = open();
    const before = Date.now();
    recorder.start('now', {}, undefined).end();
    recorder.start('past', { startTime: before - 5_000 }, undefined).end();
    recorder.start('ahead', { startTime: before + 60_000 }, undefined).end();
    const [now, past, ahead] = ended.map(({ startTime, endTime, duration }) => ({
      start: milliseconds(startTime) - before,
      end: milliseconds(endTime) - before,
      duration: milliseconds(duration),
    }));
    expect(now?.start).toBeGreaterThanOrEqual(0);
    expect(now?.end).toBeGreaterThanOrEqual(now?.start ?? Number.NaN);
    expect(past?.start).toBeCloseTo(-5_000, 3);
    expect(past?.duration).toBeGreaterThanOrEqual(4_999);
    expect(ahead?.duration).toBe(0);
  });

  it('holds 32 attributes of 256 characters, and nothing that is set after its end', () => {
    const { ended, recorder } = open();
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`a${n}`, 'x'.repeat(300)]));
    const span = recorder.start('a', { attributes: many }, undefined);
    span.setAttribute('a0', 'again');
    span.end();
    span.end();
    span.setAttribute('a1', 'late').updateName('late').setStatus({ code: 2 });
    expect(ended).toHaveLength(1);
    expect(ended[0]).toMatchObject({ name: 'a', status: { code: 0 }, droppedAttributesCount: 8 });
    expect(Object.keys(ended[0]?.attributes ?? {})).toHaveLength(32);
    expect(ended[0]?.attributes).toMatchObject({ a0: 'again', a1: 'x'.repeat(256) });
  });
});
