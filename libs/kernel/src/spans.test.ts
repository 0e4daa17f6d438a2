import { describe, expect, it } from 'vitest';
import { endSpan, parseTraceparent, startSpan, traceIdOf, traceparentOf } from './spans.ts';
import { noTelemetry } from './telemetry.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('W3C trace context', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, 1],
    [`00-${TRACE}-${SPAN}-00`, 0],
    [`00-${TRACE}-${SPAN}-03`, 1],
    [`cc-${TRACE}-${SPAN}-01`, 1],
  ])('%s is read', (text, traceFlags) => {
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true });
  });

  it.each([
    undefined,
    '',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01\n`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00_${TRACE}_${SPAN}_01`,
  ])('%j is left out', (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
    expect(traceIdOf(text)).toBe('');
  });
});

describe('without anybody who traces', () => {
  const start = (traceparent?: string) => startSpan(noTelemetry.tracer, 'a', { attributes: {}, traceparent });

  it('a context goes on as it came, and none is made up', () => {
    expect(traceparentOf(start(`00-${TRACE}-${SPAN}-01`))).toBe(`00-${TRACE}-${SPAN}-01`);
    expect(traceparentOf(start())).toBeUndefined();
    expect(traceparentOf(start('broken'))).toBeUndefined();
  });

  it('a span may be ended, also twice', () => {
    const span = start();
    endSpan(span, 'internal');
    endSpan(span);
  });
});
