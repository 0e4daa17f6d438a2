import type { CallRecord, OpenEntry } from '@toolfabric/contract';
import { errorOutcome, resultOf } from '@toolfabric/ledger';
import type { RouterContext } from './router-context.ts';

/**
 * The record of a call of which only the OPEN entry was stored: what was asked is not known any more. Nothing of
 * it can have run. A slow router's own create then loses, and its caller hears `abandoned`.
 */
export const abandonedCall = (ctx: RouterContext, open: OpenEntry): CallRecord => {
  const now = ctx.clock.now();
  const call: CallRecord = {
    callId: open.callId,
    actor: open.actor,
    taskId: 'unknown',
    tool: { name: 'unknown.unknown', version: '0.0.0', digest: '' },
    handler: '',
    kind: '',
    priority: 'hi',
    effect: 'none',
    claim: 'none',
    rerunnable: false,
    args: {},
    argsHash: '',
    decision: { policyVersion: '', rule: 'abandoned', limits: { timeoutMs: 1, outputBytes: 1 } },
    state: 'error',
    epoch: 1,
    createdAt: open.openedAt,
    deadline: now,
    settledAt: now,
  };
  return { ...call, result: resultOf(call, errorOutcome('abandoned'), 0) };
};
