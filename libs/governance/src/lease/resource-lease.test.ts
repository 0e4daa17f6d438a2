import { MOST_WAITING_WRITES, ResourceLease } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askForLease, isLeaseFree, leaveLease } from './resource-lease.ts';

const ask = (lease: ResourceLease | undefined, n: number, over: readonly number[] = []) =>
  askForLease(lease, { callId: `c${n}`, acceptedAt: n, over: new Set(over.map((each) => `c${each}`)) });

describe('the lease of a resource', () => {
  it('RT-7: is held by one, and goes on in the order of acceptance', () => {
    let lease = ask(ask(ask(undefined, 1), 3), 2);
    expect(lease).toEqual({
      holder: 'c1',
      waiting: [
        { callId: 'c2', acceptedAt: 2 },
        { callId: 'c3', acceptedAt: 3 },
      ],
    });
    expect(ask(lease, 1)).toEqual(lease);
    expect(ask(lease, 3)).toEqual(lease);
    lease = leaveLease(lease, 'c1') as ResourceLease;
    expect(lease.holder).toBe('c2');
    lease = leaveLease(lease, 'c3') as ResourceLease;
    expect(leaveLease(lease, 'c9')).toBeUndefined();
    expect(isLeaseFree(leaveLease(lease, 'c2') as ResourceLease)).toBe(true);
  });

  it('a holder that is over is passed by, and so is one that waits', () => {
    const lease = ask(ask(ask(undefined, 1), 2), 3);
    expect(ask(lease, 3, [1, 2])).toEqual({ holder: 'c3', waiting: [] });
    expect(ask(lease, 4, [1]).holder).toBe('c2');
  });

  it('is bounded: who finds no place asks again', () => {
    let lease = ask(undefined, 0);
    for (let n = 1; n < MOST_WAITING_WRITES + 20; n += 1) lease = ask(lease, n);
    expect(ResourceLease.parse(lease).waiting).toHaveLength(MOST_WAITING_WRITES);
    expect(JSON.stringify(lease).length).toBeLessThan(64 * 1024);
  });

  it('RT-7: never changes hands but by the end of its holder', () => {
    const step = fc.record({ leaves: fc.boolean(), n: fc.integer({ min: 0, max: 5 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let lease: ResourceLease | undefined;
        for (const { leaves, n } of steps) {
          const before = lease?.holder;
          lease = leaves ? lease && (leaveLease(lease, `c${n}`) ?? lease) : ask(lease, n);
          if (before !== undefined && !(leaves && before === `c${n}`)) expect(lease?.holder).toBe(before);
          if (lease?.holder === undefined) expect(lease?.waiting ?? []).toEqual([]);
        }
      }),
    );
  });
});
