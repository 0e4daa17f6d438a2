import { type CallRecord, CLOCK_LEEWAY_MS, type DoorLife } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { isFenced, planFence } from './fence.ts';

const door = (incarnation: string, more: Partial<DoorLife> = {}): DoorLife => ({
  incarnation,
  state: 'alive',
  beat: 1,
  kinds: ['web'],
  ...more,
});
const call = { kind: 'web', createdAt: 1_000_000 };

describe('protocol 7 (b): who must answer before absence proves anything', () => {
  it('every living egress of the kind, and no other', () => {
    const doors = [door('a'), door('b', { kinds: ['cli', 'web'] }), door('c', { kinds: ['cli'] })];
    expect(planFence(doors, call)).toEqual({ ask: ['a', 'b'], lost: [] });
  });

  it('one that drained had closed everything before it said so', () => {
    expect(planFence([door('a', { state: 'drained' })], call)).toEqual({ ask: [], lost: [] });
  });

  it('the death of one is no fence for what it may have sent', () => {
    const died = (diedAt?: number) =>
      planFence([door('a', { state: 'dead', ...(diedAt === undefined ? {} : { diedAt }) })], call).lost;
    expect(died(call.createdAt)).toEqual(['a']);
    expect(died(call.createdAt - CLOCK_LEEWAY_MS)).toEqual(['a']);
    expect(died(call.createdAt - CLOCK_LEEWAY_MS - 1)).toEqual([]);
    expect(died()).toEqual(['a']);
  });
});

describe('a question behind the fence', () => {
  const asked = (fenced: { epoch: number; from: number } | undefined, fence = 'egress'): CallRecord =>
    ({
      epoch: 2,
      reconcile: { fence, windowMs: 1 },
      probe: { asked: 3, nextAt: 0, ...(fenced === undefined ? {} : { fenced }) },
    }) as unknown as CallRecord;

  it('is of the epoch that was fenced, and was sent after the proof', () => {
    expect(isFenced(asked({ epoch: 2, from: 3 }), 3)).toBe(true);
    expect(isFenced(asked({ epoch: 2, from: 3 }), 2)).toBe(false);
    expect(isFenced(asked({ epoch: 1, from: 3 }), 3)).toBe(false);
    expect(isFenced(asked(undefined), 3)).toBe(false);
    expect(isFenced(asked({ epoch: 2, from: 3 }, 'workspace_lock'), 3)).toBe(false);
  });
});
