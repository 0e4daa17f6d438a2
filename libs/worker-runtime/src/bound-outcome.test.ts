import { MAX_OUTPUT_BYTES } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { boundOutcome, checkOutcome } from './bound-outcome.ts';
import { answer, done } from './testing/sample-tools.ts';

const text = (bytes: number): string => 'x'.repeat(bytes - 2);
/** Two quotes are part of the size. */
const sized = (bytes: number) => done({ data: text(bytes) });

describe('an outcome against its budget', () => {
  it('that fits is left as it is', () => {
    expect(boundOutcome(sized(1_000), 1_000)).toEqual(sized(1_000));
    expect(boundOutcome(done(), 1)).toEqual(done());
  });

  it('RS-2: that does not fit loses data and content, never status, effect or evidence', () => {
    const outcome = done({ data: text(800), content: [{ type: 'text', text: text(800) }], origin: 'workspace:t' });
    const { data: _data, content, ...rest } = outcome;
    expect(boundOutcome(outcome, 1_000)).toEqual({
      ...rest,
      summary: 'written (the output was larger than the budget and was left out)',
      truncation: [
        { stream: 'output', kept: 0, total: 800 + Buffer.byteLength(JSON.stringify(content)), unit: 'bytes' },
      ],
    });
  });

  it('counts bytes, not characters', () => {
    expect(boundOutcome(done({ data: 'ä'.repeat(500) }), 1_001)).not.toHaveProperty('data');
    expect(boundOutcome(done({ data: 'ä'.repeat(500) }), 1_002)).toHaveProperty('data');
  });

  it('never gets more than a message can carry, whatever its budget says', () => {
    expect(boundOutcome(sized(MAX_OUTPUT_BYTES), 1e9)).toHaveProperty('data');
    expect(boundOutcome(sized(MAX_OUTPUT_BYTES + 1), 1e9)).not.toHaveProperty('data');
  });

  it('keeps what the tool said about its own cuts, within the bounds of a result', () => {
    const own = { stream: 'stdout', kept: 1, total: 2, unit: 'lines' as const };
    const cut = boundOutcome({ ...sized(900), truncation: [own] }, 100);
    expect(cut.truncation).toEqual([own, { stream: 'output', kept: 0, total: 900, unit: 'bytes' }]);
    const many = boundOutcome({ ...sized(900), truncation: Array(16).fill(own), summary: 'x'.repeat(4096) }, 100);
    expect(many.truncation).toHaveLength(16);
    expect(many.truncation?.at(-1)).toMatchObject({ stream: 'output' });
    expect(many.summary).toHaveLength(4096);
  });
});

describe('an effect', () => {
  it.each([
    ['confirmed', done()],
    ['possible', done({ sideEffect: 'possible' })],
    ['unknown', done({ status: 'unknown', sideEffect: 'possible' })],
  ])('that never began is a fault of the tool: %s (L3)', (_name, outcome) => {
    expect(checkOutcome(outcome, false)).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { type: 'internal', retryable: false },
    });
    expect(checkOutcome(outcome, true)).toBe(outcome);
  });

  it('that is none needs no beginning', () => {
    expect(checkOutcome(answer(), false)).toEqual(answer());
  });
});
