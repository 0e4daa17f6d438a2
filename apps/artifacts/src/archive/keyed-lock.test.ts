import { describe, expect, it } from 'vitest';
import { KeyedLock } from './keyed-lock.ts';

describe('keyed lock', () => {
  it('lets one in at a time for a key, in order, also after one that failed; other keys do not wait', async () => {
    const lock = new KeyedLock();
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = lock.run('a', async () => {
      await gate.promise;
      seen.push('a1');
      throw new Error('broken');
    });
    const second = lock.run('a', async () => seen.push('a2'));
    const third = lock.run('a', async () => seen.push('a3'));
    await lock.run('b', async () => seen.push('b'));
    gate.resolve();
    await expect(first).rejects.toThrow('broken');
    await Promise.all([second, third]);
    expect(seen).toEqual(['b', 'a1', 'a2', 'a3']);
  });
});
