import type { CallRecord, OpenEntry } from '@toolfabric/contract';
import { errorOutcome, isAnswered, workMessageId } from '@toolfabric/ledger';
import { QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { approvedFiles } from './approvals/approved-files.ts';
import { takeApproval } from './approvals/take-approval.ts';
import { askHistory } from './ask-probe.ts';
import { callEvent } from './call-events.ts';
import { changeCall, readCall } from './change-call.ts';
import { closeCall, endCall } from './close-call.ts';
import { revokeEarlier } from './egress/fence-call.ts';
import { leaveResource, takeResource } from './resource-lease.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { releaseOperation, takeOperation } from './take-operation.ts';
import { workMessage } from './work-message.ts';

/**
 * A call without anything to take is queued when it is accepted, which its own event says. Told where it is published,
 * so that whoever goes on for a router that died on the way tells it: once an epoch, by its id.
 */
const tellQueued = (ctx: RouterContext, call: CallRecord): void => {
  if (call.epoch === 1 && call.operation === undefined && call.approvalId === undefined) return;
  ctx.ports.events.emit(callEvent(ctx, call, 'call.queued', `queued.${call.epoch}`));
};

/** Publishes the present epoch (protocol 3 (5)); the message id makes a repetition harmless. */
export const publishWork = async (ctx: RouterContext, stored: StoredCall): Promise<OpenEntry['sent']> => {
  const call = stored.value;
  tellQueued(ctx, call);
  const contract = await ctx.contractOf(call.tool);
  const files = await approvedFiles(ctx, call, contract);
  if (files === undefined) return undefined;
  const { subject, data } = workMessage(ctx, call, contract, files);
  try {
    const { callId, epoch, pin } = call;
    const watermark = call.decidedAgain ? call.watermark : undefined;
    const id = workMessageId(callId, epoch, pin, watermark);
    await revokeEarlier(ctx, call);
    const { sequence } = await ctx.ports.work.publish(call.kind, subject, id, data);
    const under = watermark === undefined ? {} : { watermark };
    const sent = { epoch, sequence, ...(pin === undefined ? {} : { pin }), ...under };
    const recent = ctx.recent.get(call.callId);
    if (recent) ctx.recent.set(call.callId, { ...recent, sent });
    ctx.faults.at('router.after-publish');
    return sent;
  } catch (thrown) {
    // A full queue, or an answer that was lost: the call stays queued, and the sweep publishes again.
    if (!(thrown instanceof QueueFull || thrown instanceof StoreUnavailable)) throw thrown;
    const reason = thrown.name === 'QueueFull' ? 'queue_full' : 'unavailable';
    ctx.telemetry.metrics.count('toolfabric_work_not_published_total', { kind: call.kind, reason });
    ctx.log.warn('work.not_published', { callId: call.callId, reason: thrown.name });
    return undefined;
  }
};

/** Somebody ended the call while this router took something for it: give back what was taken. */
const giveBack = async (ctx: RouterContext, stored: StoredCall): Promise<StoredCall> => {
  const now = await readCall(ctx, stored.value.actor.tenant, stored.value.callId);
  if (now && isAnswered(now.value.state)) {
    await releaseOperation(ctx, now.value);
    await leaveResource(ctx, now.value);
  }
  return now ?? stored;
};

/** Protocol 3 (2)–(4) for a call that has something to take. */
const takeAll = async (ctx: RouterContext, stored: StoredCall): Promise<StoredCall> => {
  const call = stored.value;
  if (call.operation !== undefined) {
    const { verdict } = await takeOperation(ctx, call, call.operation);
    ctx.faults.at('router.after-operation');
    if (verdict === 'conflict') return endCall(ctx, stored, errorOutcome('conflict'), 0);
    if (verdict === 'joined') {
      const joined = await changeCall(ctx, stored, { type: 'join' });
      return joined.done ? joined : giveBack(ctx, stored);
    }
  }
  if (call.history === 'ask') return askHistory(ctx, stored);
  const approval = await takeApproval(ctx, stored);
  if (!approval.taken) return approval.call;
  const { policyVersion, until } = approval;
  const again = {
    ...(policyVersion === undefined ? {} : { policyVersion }),
    ...(until === undefined ? {} : { until }),
  };
  if ((await takeResource(ctx, call)) === 'waiting') return stored;
  const queued = await changeCall(ctx, stored, { type: 'queue', ...again, ...ctx.policyMark() });
  ctx.faults.at('router.after-queued');
  return queued.done ? queued : giveBack(ctx, stored);
};

/**
 * Protocol 3 from wherever the call stands: used for a new call and, by the sweep, for one whose router died on the
 * way. Each step is create-or-verify; each change of state is a compare-and-set, so two at once are harmless.
 */
export const dispatchCall = async (ctx: RouterContext, stored: StoredCall): Promise<StoredCall> => {
  let call = stored;
  if (call.value.state === 'accepted' || call.value.state === 'joined') call = await takeAll(ctx, call);
  if (call.value.state === 'queued') await publishWork(ctx, call);
  if (isAnswered(call.value.state)) await closeCall(ctx, call);
  return call;
};
