import type { CallRecord, Outcome } from '@toolfabric/contract';
import { type DeniedOutcome, isAnswered, openKey } from '@toolfabric/ledger';
import { QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { expireApproval } from './approvals/change-approval.ts';
import { callEvent, terminalEvent } from './call-events.ts';
import { changeCall, readCall } from './change-call.ts';
import { revokeEgress } from './egress/fence-call.ts';
import { leaveResource } from './resource-lease.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { recordTaint } from './taint/record-taint.ts';
import { releaseOperation } from './take-operation.ts';
import { keepInSight } from './unknown/keep-in-sight.ts';
import { watchEnd } from './watch-calls.ts';

const isFull = (thrown: unknown): boolean => thrown instanceof StoreUnavailable && thrown.cause instanceof QueueFull;

/** The end of a call in as few bytes as it takes: how it ended is never lost to a full stream. */
const withoutOutput = <T extends Outcome | DeniedOutcome>({ data, content, evidence, artifacts, ...rest }: T) => ({
  ...rest,
  summary: 'The output was left out: the ledger is full.',
});

/**
 * The terminal state, stored before anything else of the closing order (protocol 3). When somebody else ended the
 * call first, theirs stands. Whoever waits is told at once: the rest of the order does not change the answer.
 */
export const endCall = async (
  ctx: RouterContext,
  stored: StoredCall,
  outcome: Outcome | DeniedOutcome,
  attempt: number,
): Promise<StoredCall> => {
  ctx.faults.at('router.before-settle');
  await recordTaint(ctx, stored.value, outcome);
  const at = ctx.clock.now();
  const change = await changeCall(ctx, stored, { type: 'end', outcome, attempt, at }).catch((thrown: unknown) => {
    if (!isFull(thrown)) throw thrown;
    ctx.log.error('ledger.full', { callId: stored.value.callId });
    return changeCall(ctx, stored, { type: 'end', outcome: withoutOutput(outcome), attempt, at });
  });
  if (change.done) {
    ctx.notify(change.value);
    ctx.faults.at('router.after-call-settled');
    // An ended record has no arguments any more.
    watchEnd(ctx, { ...change.value, args: stored.value.args }, at);
    return change;
  }
  return change.current ?? stored;
};

const removeOpen = async (ctx: RouterContext, call: CallRecord): Promise<void> => {
  const { tenant } = call.actor;
  const recent = ctx.recent.get(call.callId);
  ctx.recent.delete(call.callId);
  if (recent && (await ctx.ports.open.remove(openKey(tenant, call.callId), recent.openRevision))) return;
  const entry = await ctx.ports.open.get(openKey(tenant, call.callId));
  if (entry) await ctx.ports.open.remove(openKey(tenant, call.callId), entry.revision);
};

/** Whether the router is still finding out about an unknown call; then its OPEN entry stays. */
export const isReconciling = (call: CallRecord): boolean =>
  call.state === 'unknown' && call.reconcile !== undefined && call.left !== true;

const workspaceOf = ({ workspace }: CallRecord) => (workspace === undefined ? {} : { workspace: workspace.id });

/**
 * The closing order after the terminal state: operation, terminal event stored (L2), result acknowledged, OPEN entry
 * removed. Every step may be repeated by whoever holds the shard.
 */
export const closeCall = async (
  ctx: RouterContext,
  stored: StoredCall,
  acknowledge: () => void = () => {},
): Promise<void> => {
  const call = stored.value;
  if (!isAnswered(call.state)) return;
  await releaseOperation(ctx, call);
  await revokeEgress(ctx, call);
  await leaveResource(ctx, call);
  if (call.approvalId !== undefined) await expireApproval(ctx, call.actor.tenant, call.approvalId);
  if (call.result?.error?.type === 'workspace_lost') {
    ctx.ports.events.emit(callEvent(ctx, call, 'workspace.lost', 'workspace-lost', workspaceOf(call)));
  }
  await keepInSight(ctx, call);
  await ctx.ports.events.store(terminalEvent(ctx, call));
  ctx.faults.at('router.after-terminal-event');
  acknowledge();
  ctx.faults.at('router.after-result-ack');
  if (!isReconciling(call)) await removeOpen(ctx, call);
};

/** Reads once more before closing: the record may have moved on since. */
export const closeAgain = async (ctx: RouterContext, tenant: string, callId: string): Promise<void> => {
  const call = await readCall(ctx, tenant, callId);
  if (call) await closeCall(ctx, call);
};
