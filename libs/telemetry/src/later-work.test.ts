import { describe, expect, it } from 'vitest';
import { LaterWork } from './later-work.ts';

const open = () => {
  const later = new LaterWork();
  const done: number[] = [];
  const add = (n: number) =>
    later.add(async () => {
      done.push(n);
    });
  return { later, done, add };
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('work that may wait', () => {
  it('is done in order, within a moment, and not in the turn in which it comes', async () => {
    const { done, add } = open();
    for (let n = 0; n < 20; n += 1) add(n);
    await turn();
    expect(done).toEqual([]);
    await expect.poll(() => done).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it('does not wait when there is much of it, and leaves room between its pieces', async () => {
    const { later, done, add } = open();
    for (let n = 0; n < 200; n += 1) add(n);
    let turns = 0;
    while (done.length < 200) {
      await turn();
      turns += 1;
    }
    expect(turns).toBeGreaterThan(10);
    await later.flush();
  });

  it('is all done at a flush, also what came meanwhile and what fails', async () => {
    const { later, done, add } = open();
    add(1);
    later.add(async () => {
      add(3);
      throw new Error('no');
    });
    add(2);
    await later.flush();
    expect(done).toEqual([1, 2, 3]);
    await later.flush();
  });
});
