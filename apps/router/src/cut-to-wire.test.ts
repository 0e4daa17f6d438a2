import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutToWire } from './cut-to-wire.ts';

const wire = (text: string): number => Buffer.byteLength(JSON.stringify(text));

describe('cutToWire', () => {
  it('leaves alone what fits', () => {
    expect(cutToWire('{"a":"b"}', 100)).toBe('{"a":"b"}');
    expect(cutToWire('abc', 5)).toBe('abc');
  });

  it.each([
    ['abcd', 5, 'abc'],
    ['"""', 6, '""'],
    ['\\\\\\', 7, '\\\\'],
    ['äää', 6, 'ää'],
    ['a😀', 6, 'a'],
    ['a😀', 7, 'a😀'],
  ])('%j within %i bytes is %j', (text, most, cut) => expect(cutToWire(text, most)).toBe(cut));

  it('never takes more than it may, and cuts no character', () => {
    const json = fc.json({ stringUnit: 'grapheme' });
    fc.assert(
      fc.property(json, fc.integer({ min: 2, max: 200 }), (text, most) => {
        const cut = cutToWire(text, most);
        expect(wire(cut)).toBeLessThanOrEqual(most);
        expect(text.startsWith(cut)).toBe(true);
        expect(cut.isWellFormed()).toBe(true);
      }),
    );
  });
});
