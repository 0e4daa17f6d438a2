import { type ApprovalRecord, CLOCK_LEEWAY_MS } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { judgeApproval, moveApproval } from './approval.ts';
import { ACTOR, sampleCall } from './testing/samples.ts';

const EXPIRES = 1_000_000;
const BOUND = 'bound-1';
const call = sampleCall({ approvalId: 'a-1', state: 'awaiting_approval' });
const approval = (changes: Partial<ApprovalRecord> = {}): ApprovalRecord => ({
  approvalId: 'a-1',
  actor: ACTOR,
  toolDigest: call.tool.digest,
  argsHash: call.argsHash,
  policyVersion: call.decision.policyVersion,
  state: 'granted',
  callId: call.callId,
  expiresAt: EXPIRES,
  boundSha256: BOUND,
  ...changes,
});

const STATES = ['pending', 'granted', 'denied', 'expired', 'consumed'] as const;

describe('an approval', () => {
  it.each([
    ['pending', 'pending', 'expired'],
    ['granted', 'consume', 'expired'],
    ['denied', 'denied', 'denied'],
    ['expired', 'expired', 'expired'],
    ['consumed', 'consumed', 'consumed'],
  ] as const)('PO-4: that is %s: %s in time, %s too late', (state, inTime, tooLate) => {
    expect(judgeApproval(approval({ state }), call, 0, BOUND)).toBe(inTime);
    expect(judgeApproval(approval({ state }), call, EXPIRES + 1, BOUND)).toBe(tooLate);
  });

  it.each<[string, Partial<ApprovalRecord>]>([
    ['another call', { callId: `2969-${'z'.repeat(26)}` }],
    ['other arguments', { argsHash: 'args-2' }],
    ['another version of the tool', { toolDigest: 'digest-2' }],
    ['another policy', { policyVersion: 'p-2' }],
    ['another user', { actor: { ...ACTOR, user: 'mallory' } }],
    ['another agent', { actor: { ...ACTOR, agent: 'other' } }],
    ['something else that it is bound to', { boundSha256: 'bound-2' }],
    ['whatever it is bound to', { boundSha256: undefined as never }],
    ['another tenant', { actor: { ...ACTOR, tenant: 'rival' } }],
  ])('PO-4: for %s is no approval of this call, in whatever state (L4)', (_name, changes) => {
    for (const state of STATES) expect(judgeApproval(approval({ ...changes, state }), call, 0, BOUND)).toBe('other');
  });

  it('PO-4: fails closed: the leeway of the clocks is taken away from it', () => {
    const last = EXPIRES - CLOCK_LEEWAY_MS;
    expect(judgeApproval(approval(), call, last, BOUND)).toBe('consume');
    expect(judgeApproval(approval(), call, last + 1, BOUND)).toBe('expired');
    expect(judgeApproval(approval({ state: 'pending' }), call, last + 1, BOUND)).toBe('expired');
  });
});

const by = { user: 'grace', tokenId: 'grace' };
const pending = approval({ state: 'pending', expiresAt: EXPIRES + CLOCK_LEEWAY_MS });

describe('a move of an approval', () => {
  it('PO-4: is answered once: what is decided stays', () => {
    const granted = moveApproval(pending, { type: 'grant', by, at: 5 });
    expect(granted).toMatchObject({ state: 'granted', approver: 'grace', decidedAt: 5, decidedBy: by });
    for (const state of STATES.slice(1)) {
      const answered = approval({ state });
      expect(moveApproval(answered, { type: 'grant', by, at: 5 })).toBeUndefined();
      expect(moveApproval(answered, { type: 'deny', by, at: 5 })).toBeUndefined();
      expect(moveApproval(answered, { type: 'first_yes', by, at: 5 })).toBeUndefined();
    }
  });

  it('PO-4: only a granted one is used, and once', () => {
    const used = moveApproval(approval(), { type: 'consume' });
    expect(used?.state).toBe('consumed');
    expect(used && moveApproval(used, { type: 'consume' })).toBeUndefined();
    for (const state of ['pending', 'denied', 'expired'] as const)
      expect(moveApproval(approval({ state }), { type: 'consume' })).toBeUndefined();
  });

  it('PO-4: no yes is taken after its time, and a no is', () => {
    expect(moveApproval(pending, { type: 'grant', by, at: EXPIRES + 1 })).toBeUndefined();
    expect(moveApproval(pending, { type: 'first_yes', by, at: EXPIRES + 1 })).toBeUndefined();
    expect(moveApproval(pending, { type: 'deny', by, at: EXPIRES + 1 })?.state).toBe('denied');
  });

  it('PO-5: the window of a batch shortens its time, and never makes it longer', () => {
    expect(moveApproval(pending, { type: 'grant', by, at: 5, until: 100, batchId: 'b' })).toMatchObject({
      expiresAt: 100,
      batchId: 'b',
    });
    expect(moveApproval(pending, { type: 'grant', by, at: 5, until: 10 ** 9 })?.expiresAt).toBe(pending.expiresAt);
  });

  it('the first of two persons is remembered once', () => {
    const first = moveApproval(pending, { type: 'first_yes', by, at: 5 });
    expect(first).toMatchObject({ state: 'pending', grants: [{ user: 'grace', tokenId: 'grace', at: 5 }] });
    const again = { type: 'first_yes', by: { user: 'grace', tokenId: 'another' }, at: 6 } as const;
    expect(first && moveApproval(first, again)).toBeUndefined();
  });

  it('what nobody needs any more expires, what was used or denied does not', () => {
    expect(moveApproval(pending, { type: 'expire', at: 1 })?.state).toBe('expired');
    expect(moveApproval(approval(), { type: 'expire', at: 1 })?.state).toBe('expired');
    for (const state of ['denied', 'expired', 'consumed'] as const)
      expect(moveApproval(approval({ state }), { type: 'expire', at: 1 })).toBeUndefined();
  });
});
