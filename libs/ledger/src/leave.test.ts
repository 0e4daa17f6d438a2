import { describe, expect, it } from 'vitest';
import { advanceCall } from './call.ts';
import { planSweep } from './sweep.ts';
import { sampleCall } from './testing/samples.ts';

const unknown = sampleCall({
  state: 'unknown',
  settledAt: 1_000,
  deadline: 90_000,
  reconcile: { fence: 'workspace_lock', windowMs: 5_000 },
  probe: { asked: 2, nextAt: 3_000 },
});
const facts = {
  open: { callId: unknown.callId, actor: unknown.actor, openedAt: 0 },
  claim: undefined,
  holderDead: false,
  workGone: undefined,
  pinLost: false,
  graceMs: 10,
};

describe('RE-2: an unknown call that is left to a person', () => {
  it('is left when the window of its probe is over, and then never runs again', () => {
    expect(planSweep({ ...facts, call: unknown, now: 6_001 })).toBe('leave_to_person');
    const left = advanceCall(unknown, { type: 'leave' });
    expect(left).toMatchObject({ state: 'unknown', left: true });
    if (!left) throw new Error('not left');
    expect(advanceCall(left, { type: 'leave' })).toBeUndefined();
    expect(advanceCall(left, { type: 'requeue', epoch: 2 })).toBeUndefined();
    expect(advanceCall(unknown, { type: 'requeue', epoch: 2 })).toMatchObject({ state: 'queued' });
    expect(planSweep({ ...facts, call: left, now: 1_500 })).toBe('leave_to_person');
  });

  it('is left only while it is unknown', () => {
    for (const state of ['queued', 'ok', 'error', 'accepted', 'joined', 'awaiting_approval'] as const)
      expect(advanceCall(sampleCall({ state }), { type: 'leave' })).toBeUndefined();
  });
});
