import { MAX_MESSAGE_BYTES, MAX_OUTPUT_BYTES, Outcome } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { boundOutcome, checkOutcome, parseOutcome } from './bound-outcome.ts';
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
    expect(many.summary.startsWith('x'.repeat(3_000))).toBe(true);
    expect(many.summary).toContain('left out');
    expect(Outcome.safeParse(many).error).toBeUndefined();
  });
});

describe('RS-2: what stands beside data and content', () => {
  const long = 'ä'.repeat(2_000);
  const error = { type: 'tool_failed', layer: 'adapter', retryable: true, message: long, hint: 'h' } as const;
  const fields = Array.from({ length: 50 }, () => ({ field: '/a', expected: long }));

  it.each<[string, Partial<Outcome>]>([
    ['evidence', { evidence: Array.from({ length: 64 }, () => ({ kind: 'note', ref: long })) }],
    ['artifacts', { artifacts: Array(64).fill(long) }],
    ['an error with its fields', { status: 'error', error: { ...error, fields } }],
    ['an origin', { origin: 'o'.repeat(100_000) }],
    ['names of streams', { truncation: Array(16).fill({ stream: long, kept: 1, total: 2, unit: 'bytes' }) }],
  ])('that is too large leaves how it ended and whether anything happened: %s', (_name, changes) => {
    const outcome = done({ data: { id: 7 }, summary: 's'.repeat(4_096), ...changes });
    const bounded = boundOutcome(outcome, 4_096);
    const { status, sideEffect, trust } = outcome;
    expect(bounded).toMatchObject({ status, sideEffect, trust });
    expect(bounded.error?.type).toBe(outcome.error?.type);
    expect(bounded.error?.retryable).toBe(outcome.error?.retryable);
    expect(Buffer.byteLength(JSON.stringify(bounded))).toBeLessThan(MAX_MESSAGE_BYTES / 4);
    expect(Outcome.safeParse(bounded).error).toBeUndefined();
  });

  it('stays whole up to its own limit, however much the output takes', () => {
    const evidence = Array.from({ length: 30 }, (_, n) => ({
      kind: 'file',
      ref: `src/${n}.ts`,
      detail: 'd'.repeat(400),
    }));
    const outcome = done({ evidence, data: text(MAX_OUTPUT_BYTES) });
    expect(boundOutcome(outcome, 1e9)).toEqual(outcome);
    const { data: _data, ...rest } = outcome;
    expect(boundOutcome(outcome, 100)).toMatchObject({ evidence: rest.evidence, sideEffect: 'confirmed' });
  });
});

const circular: Record<string, unknown> = { ...done() };
circular['data'] = circular;

describe('what a tool returned', () => {
  it('is taken as it will be read again', () => {
    expect(parseOutcome(done({ data: [1, null] }))).toEqual(done({ data: [1, null] }));
    expect(parseOutcome({ ...answer(), data: undefined })).toEqual(answer());
    expect(parseOutcome({ ...answer(), data: Number.NaN as never })).toEqual(answer({ data: null }));
    expect(parseOutcome({ ...answer(), data: { at: new Date(0) } })).toEqual(
      answer({ data: { at: '1970-01-01T00:00:00.000Z' } }),
    );
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'done'],
    ['a list', [done()]],
    ['an unknown status', { ...done(), status: 'denied' }],
    ['a summary of 5,000 characters', done({ summary: 'x'.repeat(5_000) })],
    ['65 evidences', done({ evidence: Array(65).fill({ kind: 'note', ref: '7' }) })],
    ['an extra key', { ...done(), more: 1 }],
    ['no number as a duration', done({ usage: { durationMs: Number.NaN } })],
    ['a big integer', done({ data: 1n as never })],
    ['itself inside', circular],
    ['a promise as its data', { ...done(), status: Promise.resolve('ok') }],
  ])('RS-1: is refused when nobody could read it again: %s', (_name, returned) => {
    expect(() => parseOutcome(returned)).toThrow();
  });
});

describe('an effect', () => {
  it.each([
    ['confirmed', done()],
    ['possible', done({ sideEffect: 'possible' })],
    ['unknown', done({ status: 'unknown', sideEffect: 'possible' })],
    ['none but failed', done({ status: 'error', sideEffect: 'possible' })],
  ])('that never began is a fault of the tool, and still an effect: %s (L3)', (_name, outcome) => {
    const checked = checkOutcome(outcome, false);
    expect(checked).toMatchObject({
      status: 'unknown',
      sideEffect: 'possible',
      error: { type: 'internal', retryable: false },
    });
    expect(checked).not.toHaveProperty('evidence');
    expect(checkOutcome(outcome, true)).toBe(outcome);
  });

  it('that is none needs no beginning', () => {
    expect(checkOutcome(answer(), false)).toEqual(answer());
  });
});
