import { describe, expect, it } from 'vitest';
import { type Recent, RecentCalls } from './recent-calls.ts';
import { sampleCall } from './testing/sample-call.ts';

const recent = (n: number): Recent => ({ call: { value: sampleCall(), revision: n }, openRevision: n });

describe('recent calls', () => {
  it('are found until they are taken away', () => {
    const calls = new RecentCalls(2);
    calls.set('a', recent(1));
    expect(calls.get('a')).toEqual(recent(1));
    calls.delete('a');
    expect(calls.get('a')).toBeUndefined();
    expect(() => calls.delete('a')).not.toThrow();
  });

  it('are bounded: the oldest leaves', () => {
    const calls = new RecentCalls(3);
    for (let n = 0; n < 1_000; n += 1) calls.set(`call-${n}`, recent(n));
    const kept = Array.from({ length: 1_000 }, (_, n) => `call-${n}`).filter((id) => calls.get(id));
    expect(kept).toEqual(['call-997', 'call-998', 'call-999']);
  });

  it('that are set again take the place that they have', () => {
    const calls = new RecentCalls(2);
    calls.set('a', recent(1));
    calls.set('b', recent(2));
    for (let n = 3; n < 10; n += 1) calls.set('a', recent(n));
    expect(calls.get('a')).toEqual(recent(9));
    expect(calls.get('b')).toEqual(recent(2));
  });
});
