import { Outcome } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitToBudget, payloadSize } from './fit-to-budget.ts';

const outcome = (parts: Partial<Outcome>): Outcome => ({
  status: 'ok',
  summary: 'done',
  sideEffect: 'none',
  trust: 'trusted',
  ...parts,
});

const strings = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .tuple(fc.constantFrom('🔑', '密', 'word ', 'line\n', '"', '\\', '\u0001'), fc.nat(500))
    .map(([unit, count]) => unit.repeat(count)),
);
const values = (depth: number): fc.Arbitrary<unknown> =>
  depth === 0
    ? fc.oneof(strings, fc.integer(), fc.boolean(), fc.constant(null))
    : fc.oneof(
        strings,
        fc.array(values(depth - 1), { maxLength: 12 }),
        fc.dictionary(fc.string({ maxLength: 8 }), values(depth - 1), { maxKeys: 6 }),
      );
const blocks = fc.oneof(
  strings.map((text) => ({ type: 'text' as const, text })),
  fc.nat(4000).map((size) => ({
    type: 'image' as const,
    mediaType: 'image/png',
    dataBase64: Buffer.alloc(size).toString('base64'),
  })),
  strings.map((text) => ({ type: 'resource' as const, uri: 'x://y', text })),
);

/** No half of a character in any string: `JSON.stringify` would escape it. */
const isWellFormed = ({ data, content }: Outcome): boolean =>
  !/\\ud[89a-f][0-9a-f]{2}/.test(JSON.stringify([data, content]));

describe('fitting an outcome into its budget', () => {
  it('RS-3: what fits is the same outcome', () => {
    const small = outcome({ data: { a: [1, 'x'] }, content: [{ type: 'text', text: 'hello' }] });
    expect(fitToBudget(small, { bytes: 1000, tokens: 100 })).toBe(small);
  });

  it('RS-3: stays within bytes and tokens, is valid, cuts no character, and states each cut', () => {
    const cases = fc.record({
      data: values(2),
      content: fc.array(blocks, { maxLength: 6 }),
      bytes: fc.integer({ min: 256, max: 6000 }),
      tokens: fc.option(fc.integer({ min: 64, max: 1500 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(cases, ({ data, content, bytes, tokens }) => {
        const given = outcome({ data: JSON.parse(JSON.stringify(data)) as never, content });
        const budget = { bytes, ...(tokens === undefined ? {} : { tokens }) };
        const fitted = fitToBudget(given, budget);
        const size = payloadSize(fitted);
        expect(size.bytes).toBeLessThanOrEqual(bytes);
        if (tokens !== undefined) expect(size.tokens).toBeLessThanOrEqual(tokens);
        expect(Outcome.safeParse(fitted).error).toBeUndefined();
        const before = payloadSize(given);
        const isOver = before.bytes > bytes || (tokens !== undefined && before.tokens > tokens);
        expect(fitted.truncation !== undefined).toBe(isOver);
        for (const { kept, total } of fitted.truncation ?? []) expect(kept).toBeLessThan(total);
        if (isWellFormed(given)) expect(isWellFormed(fitted)).toBe(true);
      }),
      { numRuns: 120 },
    );
  });

  it('RS-3: cuts the longest strings, keeps head and tail, and says how much', () => {
    const log = Array.from({ length: 900 }, (_, at) => `line ${at}\n`).join('');
    const fitted = fitToBudget(outcome({ data: { exitCode: 1, log } }), { bytes: 2000 });
    const shown = (fitted.data as { exitCode: number; log: string }).log;
    expect(fitted.data).toMatchObject({ exitCode: 1 });
    expect(shown).toMatch(/^line 0\n/);
    expect(shown).toMatch(/line 899\n$/);
    const [entry] = fitted.truncation ?? [];
    expect(entry).toMatchObject({ stream: 'data/log', total: log.length, unit: 'bytes' });
    expect(shown).toContain(`[… ${log.length - (entry?.kept ?? 0)} bytes left out …]`);
  });

  it('keeps the first items of a list that is too long', () => {
    const data = Array.from({ length: 5000 }, (_, at) => ({ id: at }));
    const fitted = fitToBudget(outcome({ data }), { bytes: 1000 });
    expect((fitted.data as unknown[]).length).toBeGreaterThan(20);
    expect(fitted.truncation).toMatchObject([{ stream: 'data', total: 5000, unit: 'items' }]);
  });

  it('leaves out an image that is too large, with a word in its place', () => {
    const image = { type: 'image' as const, mediaType: 'image/png', dataBase64: Buffer.alloc(9000).toString('base64') };
    const fitted = fitToBudget(outcome({ content: [image, { type: 'text', text: 'kept' }] }), { bytes: 2000 });
    expect(fitted.content).toEqual([
      { type: 'text', text: '[image image/png, 9000 bytes, left out]' },
      { type: 'text', text: 'kept' },
    ]);
    expect(fitted.truncation).toEqual([{ stream: 'content/0', kept: 0, total: 9000, unit: 'bytes' }]);
  });

  it('gives up the payload when nothing else helps, and says so', () => {
    const data = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`field ${at}`, at]));
    const fitted = fitToBudget(outcome({ data }), { bytes: 300 });
    expect(fitted).not.toHaveProperty('data');
    expect(fitted.truncation).toMatchObject([{ stream: 'data', kept: 0, unit: 'bytes' }]);
  });

  it('states no more truncations than a result may hold, and keeps earlier ones', () => {
    const data = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, 'x'.repeat(3000)]));
    const earlier = { stream: 'stdout', kept: 1, total: 9_000_000, unit: 'bytes' as const };
    const fitted = fitToBudget(outcome({ data, truncation: [earlier] }), { bytes: 20_000 });
    expect(fitted.truncation).toHaveLength(16);
    expect(fitted.truncation?.[0]).toEqual(earlier);
    expect(fitted.truncation?.at(-1)?.stream).toBe('26 others');
  });
});
