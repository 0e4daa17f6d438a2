import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSuggester, editDistance, nearestNames } from './nearest-names.ts';

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
    ['raed', 'read', 1],
    ['path', 'pth', 1],
  ])('%j to %j is %i', (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

  it('is symmetric, zero for equals only, and never more than the longer text', () => {
    const text = fc.string({ maxLength: 30 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('nearestNames', () => {
  it('allows few slips in a short name', () => {
    expect(nearestNames('pth', ['path', 'at', 'opt'])).toEqual(['path']);
    expect(nearestNames('zz', ['path', 'at'])).toEqual([]);
  });

  it('examines a bounded number of names, and of each a bounded part', () => {
    let asked = 0;
    function* endless(): Generator<string> {
      for (;;) {
        asked += 1;
        yield 'x'.repeat(100_000);
      }
    }
    expect(nearestNames('y'.repeat(100_000), endless())).toEqual([]);
    expect(asked).toBeLessThan(300);
  });
});

describe('createSuggester', () => {
  it('finds any name with one letter missing', () => {
    const names = Array.from({ length: 300 }, (_, i) => `group${i % 7}.action_${(i * 7919).toString(36)}`);
    const suggest = createSuggester(names);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat(5), (name, at) => {
        const typed = name.slice(0, name.length - 2 - at) + name.slice(name.length - 1 - at);
        expect(suggest(typed).length).toBeGreaterThan(0);
      }),
      { numRuns: 50 },
    );
  });

  it.each(['', 'a', '\u0000', '💥', 'x'.repeat(50_000)])('answers hostile text of %#', (text) =>
    expect(createSuggester(['web.search'])(text)).toEqual([]),
  );
});
