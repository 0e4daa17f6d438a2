import { describe, expect, it } from 'vitest';
import { windowText } from './window-text.ts';

const all = () => true;
const within = (bytes: number) => (part: string) => Buffer.byteLength(JSON.stringify(part)) <= bytes;

describe('WB-2: a part of a text', () => {
  it('is all of it where that fits', () => {
    expect(windowText('short', 0, 100, all)).toEqual({ text: 'short', from: 0, next: undefined });
    expect(windowText('', 0, 100, all)).toEqual({ text: '', from: 0, next: undefined });
  });

  it('ends after a line, else after a word, else where it must', () => {
    expect(windowText('one two\nthree four', 0, 9, all)).toEqual({ text: 'one two\n', from: 0, next: 8 });
    expect(windowText('one two three four', 0, 9, all)).toEqual({ text: 'one two ', from: 0, next: 8 });
    expect(windowText('abcdefghijkl', 0, 9, all)).toEqual({ text: 'abcdefghi', from: 0, next: 9 });
  });

  it('breaks no character, at either end', () => {
    const cats = '🐈'.repeat(10);
    expect(windowText(cats, 0, 5, all)).toEqual({ text: '🐈🐈', from: 0, next: 4 });
    expect(windowText(cats, 3, 4, all)).toEqual({ text: '🐈🐈', from: 2, next: 6 });
  });

  it('takes no more bytes of a message than it may', () => {
    const text = '"\u0001語'.repeat(2_000);
    const { text: part } = windowText(text, 0, 40_000, within(1_000));
    expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThanOrEqual(1_000);
    expect(part.length).toBeGreaterThan(200);
  });

  it('the parts one after the other are the whole', () => {
    const text = Array.from({ length: 300 }, (_, n) => `line ${n} 語🐈 of many`).join('\n');
    let joined = '';
    for (let at: number | undefined = 0; at !== undefined; ) {
      const part = windowText(text, at, 500, within(700));
      joined += part.text;
      at = part.next;
    }
    expect(joined).toBe(text);
  });

  it('beyond the end there is nothing', () => {
    expect(windowText('abc', 99, 10, all)).toEqual({ text: '', from: 3, next: undefined });
  });
});
