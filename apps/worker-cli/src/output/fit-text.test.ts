import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitText } from './fit-text.ts';
import { jsonBytes } from './json-bytes.ts';

describe('texts cut to a budget', () => {
  it('never above the budget, always a beginning, never half a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), fc.integer({ min: 8, max: 300 }), (text, budget) => {
        const fitted = fitText(text, budget);
        expect(jsonBytes(fitted.text)).toBeLessThanOrEqual(budget);
        expect(text.startsWith(fitted.text)).toBe(true);
        expect(fitted.text.isWellFormed()).toBe(true);
        expect(fitted.whole).toBe(fitted.text.length === text.length);
      }),
    );
  });

  it('cuts after a whole line, and says so when not even the first line fits', () => {
    expect(fitText('one\ntwo\nthree\n', 14)).toEqual({ text: 'one\ntwo\n', whole: false, insideLine: false });
    expect(fitText('x'.repeat(100), 12)).toEqual({ text: 'x'.repeat(10), whole: false, insideLine: true });
  });

  it('control characters count as what they become in a message', () => {
    const { text } = fitText('\u0001'.repeat(100), 62);
    expect(text.length).toBe(10);
  });
});
