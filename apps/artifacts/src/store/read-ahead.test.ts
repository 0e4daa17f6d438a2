import { describe, expect, it } from 'vitest';
import { readAhead } from './read-ahead.ts';

describe('reading ahead', () => {
  it('keeps the order, has no more on the way than it may, and stops at an error', async () => {
    let open = 0;
    let most = 0;
    const read = async (n: number) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, n % 3));
      open -= 1;
      if (n === 30) throw new Error('thirty');
      return n;
    };
    const seen: number[] = [];
    const all = async () => {
      for await (const n of readAhead(
        Array.from({ length: 50 }, (_, n) => n),
        4,
        read,
      ))
        seen.push(n);
    };
    await expect(all()).rejects.toThrow('thirty');
    expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => n));
    expect(most).toBe(4);
  });
});
