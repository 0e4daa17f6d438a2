import { connectLedger } from '@toolfabric/bus-nats';
import type { ApprovalRecord, CallRecord, OpenEntry } from '@toolfabric/contract';
import { callIdFor, sha256Hex, uuidv7 } from '@toolfabric/kernel';
import { approvalKey, callKey, openKey } from '@toolfabric/ledger';
import type { BenchFabric } from '../call-path/bench-fabric.ts';

const AT_ONCE = 64;
const HOUR_MS = 3_600_000;
const ACTOR = { tenant: 'tenant-0', user: 'ada', agent: 'bench' };

const recordsOf = (now: number): { open: OpenEntry; call: CallRecord; approval: ApprovalRecord } => {
  const callId = callIdFor(ACTOR, uuidv7(), Date.now());
  const approvalId = sha256Hex(callId).slice(0, 32);
  const tool = { name: 'truth.append_outside', version: '1.0.0', digest: sha256Hex('tool') };
  const argsHash = sha256Hex('{}');
  const decision = { policyVersion: 'bench', rule: 'bench', limits: { timeoutMs: 10_000, outputBytes: 4_096 } };
  return {
    open: { callId, actor: ACTOR, openedAt: now },
    call: {
      ...{ callId, actor: ACTOR, taskId: `t-${'0'.repeat(26)}`, tool, handler: 'bench', kind: 'truth', priority: 'hi' },
      ...{ effect: 'outside', claim: 'required', rerunnable: false, args: {}, argsHash, decision, approvalId },
      ...{ state: 'awaiting_approval', epoch: 1, createdAt: now, deadline: now + HOUR_MS },
    },
    approval: {
      ...{ approvalId, actor: ACTOR, toolDigest: tool.digest, argsHash, policyVersion: decision.policyVersion },
      ...{ state: 'pending', callId, expiresAt: now + HOUR_MS },
    },
  };
};

/** So many calls that wait for a person, as their router left them. */
export const seedPending = async ({ server }: BenchFabric, count: number): Promise<void> => {
  const ledger = await connectLedger(server.configFor('router', 'bench-pending'));
  const now = Date.now();
  const store = async (): Promise<void> => {
    const { open, call, approval } = recordsOf(now);
    await ledger.approvals.create(approvalKey(ACTOR.tenant, approval.approvalId), approval);
    await ledger.calls.create(callKey(ACTOR.tenant, call.callId), call);
    await ledger.open.create(openKey(ACTOR.tenant, call.callId), open);
  };
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, store));
  await ledger.close();
};
