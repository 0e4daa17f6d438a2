import type { ApprovalRecord, CallRecord } from '@toolfabric/contract';
import { boundDigest } from '@toolfabric/governance';
import { digestOf } from '@toolfabric/kernel';
import type { Random } from './scheduler.ts';
import { KIND } from './sim-cluster.ts';

export const ACTOR = { tenant: 'acme', user: 'ada', agent: 'coder' };
const NOW = 1_796_000_000_000;
const WEEK = Math.floor(NOW / 604_800_000);

/** Fewer than workers, so that one of them has none. */
export const PIN_SLOTS = 2;

const HANDLERS = [
  { handler: 'sim.read', effect: 'none', claim: 'none' },
  { handler: 'sim.claimed_read', effect: 'none', claim: 'required' },
  { handler: 'sim.blind', effect: 'outside', claim: 'required' },
  { handler: 'sim.probed', effect: 'outside', claim: 'required', fence: 'none' },
  { handler: 'sim.deduped', effect: 'outside', claim: 'required', fence: 'dedupe' },
  { handler: 'sim.fenced', effect: 'outside', claim: 'required', fence: 'egress' },
  { handler: 'sim.fenced', effect: 'outside', claim: 'required', fence: 'egress' },
  { handler: 'sim.workspace', effect: 'workspace', claim: 'required', fence: 'workspace_lock' },
] as const;

/** One call of a caller: which handler, and what else it is, by chance. */
export const simCall = (random: Random, index: number): CallRecord => {
  const shape = random.pick(HANDLERS);
  const callId = `${WEEK}-${index.toString().padStart(2, '0')}${'0123456789abcdefghjkmnpq'}`;
  const hasOperation = shape.effect !== 'none' && random.chance(0.5);
  const operation = hasOperation ? `op.shared${random.int(2)}` : undefined;
  const argsHash = digestOf(operation === undefined ? callId : [operation, random.chance(0.15) ? 1 : 0]);
  const background = shape.claim === 'required' && random.chance(0.4);
  const needsApproval = shape.effect === 'outside' && random.chance(0.25);
  const fence = 'fence' in shape ? shape.fence : undefined;
  return {
    callId,
    actor: ACTOR,
    taskId: 't-00000000000000000000000000',
    tool: { name: shape.handler, version: '1.0.0', digest: 'digest' },
    handler: shape.handler,
    kind: KIND,
    priority: 'hi',
    effect: shape.effect,
    claim: shape.claim,
    rerunnable: 'fence' in shape && shape.fence === 'dedupe' && random.chance(0.5),
    args: { identity: operation ?? callId, argsHash },
    argsHash,
    decision: { policyVersion: 'p1', rule: 'sim', limits: { timeoutMs: 6_000, outputBytes: 10_000 } },
    ...(operation === undefined ? {} : { operation }),
    // Sometimes to a slot that nobody ever takes.
    ...(random.chance(0.4) ? { pin: `p${random.int(PIN_SLOTS + 1)}` } : {}),
    ...(background ? { background } : {}),
    ...(fence === 'egress' ? { egress: {} } : {}),
    ...(needsApproval ? { approvalId: `a${index}` } : {}),
    ...(fence === undefined ? {} : { reconcile: { fence, windowMs: Math.round(random.between(3_000, 60_000)) } }),
    state: needsApproval ? 'awaiting_approval' : hasOperation ? 'accepted' : 'queued',
    epoch: 1,
    createdAt: NOW,
    deadline: NOW + Math.round(random.between(4_000, 45_000)),
  };
};

/** What a person is asked about a call, before they answer. */
export const simApproval = (call: CallRecord, approvalId: string): ApprovalRecord => ({
  approvalId,
  actor: ACTOR,
  toolDigest: call.tool.digest,
  argsHash: call.argsHash,
  policyVersion: call.decision.policyVersion,
  state: 'pending',
  callId: call.callId,
  expiresAt: NOW + 90_000,
  boundSha256: boundDigest(call, {}),
});
