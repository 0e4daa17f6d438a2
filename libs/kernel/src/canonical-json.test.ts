import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, depthOf, digestOf, sha256Hex } from './canonical-json.ts';

/** The same value with the keys of every object in another order. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reordered(item)]),
  );
};

describe('canonicalJson', () => {
  it.each<[unknown, string]>([
    [{ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}'],
    [{ '10': 1, '9': 2, é: 3, Z: 4, a: 5 }, '{"10":1,"9":2,"Z":4,"a":5,"é":3}'],
    [[1e21, 1e-7, 0.1, -0, 100], '[1e+21,1e-7,0.1,0,100]'],
    ['\u2028"\\\u0007\n€', '"\u2028\\"\\\\\\u0007\\n€"'],
    [{ kept: null, dropped: undefined }, '{"kept":null}'],
    [[undefined, 1], '[null,1]'],
    // biome-ignore lint/suspicious/noSparseArray: a hole must come out as JSON.
    [[1, , 2], '[1,null,2]'],
    [JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}'), '{"__proto__":{"a":1},"constructor":2}'],
    [{}, '{}'],
    [[], '[]'],
  ])('%j', (value, text) => expect(canonicalJson(value)).toBe(text));

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1n, undefined, () => 1, Symbol('s'), { a: Number.NaN }, [() => 1]])(
    'refuses what JSON cannot say: %s',
    (value) => expect(() => canonicalJson(value)).toThrow(TypeError),
  );

  it('says the same as JSON, and the same for every order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reordered(value))).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it('different values never say the same', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(value, value, (a, b) => {
        const same = canonicalJson(a) === canonicalJson(b);
        if (same) expect(JSON.parse(canonicalJson(a))).toEqual(JSON.parse(canonicalJson(b)));
        expect(digestOf(a) === digestOf(b)).toBe(same);
      }),
      { numRuns: 300 },
    );
  });

  it('keys are sorted by code unit', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 4 })), (keys) => {
        const written = Object.keys(JSON.parse(canonicalJson(Object.fromEntries(keys.map((key) => [`k${key}`, 0])))));
        expect(written).toEqual(written.toSorted());
      }),
    );
  });
});

describe('digests', () => {
  it('are SHA-256 in lower-case hexadecimal', () => {
    expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(digestOf({ b: 2, a: 1 })).toBe(sha256Hex('{"a":1,"b":2}'));
  });
});

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i += 1) value = wrap(value);
  return value;
};

describe('depthOf', () => {
  it.each<[unknown, number]>([
    [1, 0],
    [null, 0],
    ['[[[[', 0],
    [[], 1],
    [{}, 1],
    [[[]], 2],
    [{ a: [{}] }, 3],
    [[1, [2, [3]], 4], 3],
  ])('%j is %i deep', (value, depth) => expect(depthOf(value, 32)).toBe(depth));

  it('is exact up to the limit and one more beyond it', () => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 0, max: 40 }), (levels, limit) => {
        for (const wrap of [(inner: unknown) => [inner], (inner: unknown) => ({ a: inner })]) {
          expect(depthOf(nested(levels, wrap), limit)).toBe(Math.min(levels, limit + 1));
        }
      }),
    );
  });

  it.each([
    ['arrays', (inner: unknown) => [inner]],
    ['objects', (inner: unknown) => ({ a: inner })],
    ['arrays beside wide neighbours', (inner: unknown) => [1, {}, [], inner]],
  ])('never overflows: a million %s', (_, wrap) => expect(depthOf(nested(1_000_000, wrap), 32)).toBe(33));

  it('survives what a parser makes of hostile text', () => {
    const text = `${'[{"a":'.repeat(30_000)}1${'}]'.repeat(30_000)}`;
    expect(depthOf(JSON.parse(text), 32)).toBe(33);
  });

  it('looks at every branch', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10), { minLength: 1 }), (depths) => {
        const branches = depths.map((levels) => nested(levels, (inner) => [inner]));
        expect(depthOf(branches, 32)).toBe(1 + Math.max(...depths));
      }),
    );
  });
});
