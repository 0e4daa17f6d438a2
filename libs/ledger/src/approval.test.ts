import { type ApprovalRecord, CLOCK_LEEWAY_MS } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { judgeApproval } from './approval.ts';
import { ACTOR, sampleCall } from './testing/samples.ts';

const EXPIRES = 1_000_000;
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
    expect(judgeApproval(approval({ state }), call, 0)).toBe(inTime);
    expect(judgeApproval(approval({ state }), call, EXPIRES + 1)).toBe(tooLate);
  });

  it.each<[string, Partial<ApprovalRecord>]>([
    ['another call', { callId: `2969-${'z'.repeat(26)}` }],
    ['other arguments', { argsHash: 'args-2' }],
    ['another version of the tool', { toolDigest: 'digest-2' }],
    ['another policy', { policyVersion: 'p-2' }],
    ['another tenant', { actor: { ...ACTOR, tenant: 'rival' } }],
  ])('PO-4: for %s is no approval of this call, in whatever state (L4)', (_name, changes) => {
    for (const state of STATES) expect(judgeApproval(approval({ ...changes, state }), call, 0)).toBe('other');
  });

  it('PO-4: fails closed: the leeway of the clocks is taken away from it', () => {
    const last = EXPIRES - CLOCK_LEEWAY_MS;
    expect(judgeApproval(approval(), call, last)).toBe('consume');
    expect(judgeApproval(approval(), call, last + 1)).toBe('expired');
    expect(judgeApproval(approval({ state: 'pending' }), call, last + 1)).toBe('expired');
  });
});
