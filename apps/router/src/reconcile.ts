import { type CallRecord, MAX_EPOCH, type OpenEntry, Outcome, type ResultMessage } from '@toolfabric/contract';
import {
  createRecord,
  errorOutcome,
  isFinal,
  judgeEnd,
  moveClaim,
  openKey,
  probeCallId,
  workMessageId,
} from '@toolfabric/ledger';
import { type Delivery, QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import { callEvent } from './call-events.ts';
import { changeCall, readCall } from './change-call.ts';
import { changeClaim, readClaim } from './claims.ts';
import { closeCall, endCall } from './close-call.ts';
import { publishWork } from './dispatch.ts';
import { judgeOf } from './judge-output.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { probeMessage } from './work-message.ts';

/** The delay between two probes doubles up to so many times the first one. */
const LONGEST_BACK_OFF = 60;

/** What a probe answers, in the data of its outcome. */
const ProbeReport = z.discriminatedUnion('answer', [
  z.looseObject({ answer: z.literal('found'), receipt: Outcome }),
  z.looseObject({ answer: z.literal('absent'), fence: z.boolean() }),
  z.looseObject({ answer: z.literal('not_visible'), reason: z.string() }),
]);

const nextAt = (ctx: RouterContext, asked: number): number =>
  ctx.clock.now() + ctx.pace.probeFirstMs * Math.min(2 ** asked, LONGEST_BACK_OFF);

/**
 * Protocol 7: asks the parent's kind what became of the call. That it was asked is stored first, so that two sweepers
 * ask once; a lost question is asked again after its back-off.
 */
export const askProbe = async (ctx: RouterContext, stored: StoredCall): Promise<void> => {
  const asked = (stored.value.probe?.asked ?? 0) + 1;
  const change = await changeCall(ctx, stored, { type: 'probed', asked, nextAt: nextAt(ctx, asked) });
  if (!change.done) return;
  const call = change.value;
  const claim = await readClaim(ctx, change);
  const { subject, data } = probeMessage(ctx, call, await ctx.contractOf(call.tool), asked, claim?.intent);
  const id = workMessageId(probeCallId(call.callId, asked), 1);
  ctx.telemetry.metrics.count('toolfabric_probes_total', { kind: call.kind });
  ctx.ports.events.emit(callEvent(ctx, call, 'call.probed', `probed.${asked}`, { asked }));
  await ctx.ports.work.publish(call.kind, subject, id, data).catch((thrown: unknown) => {
    if (!(thrown instanceof QueueFull || thrown instanceof StoreUnavailable)) throw thrown;
  });
};

const settleFound = async (ctx: RouterContext, call: StoredCall, receipt: Outcome): Promise<StoredCall> => {
  const judge = await judgeOf(ctx, call.value.tool);
  const change = await changeClaim(ctx, call, (claim) => moveClaim(claim, { type: 'resolve', outcome: receipt }));
  if (!change.done) return call;
  return endCall(ctx, call, judgeEnd(change.value, receipt, judge), call.value.epoch);
};

/**
 * The probe found nothing. Behind a fence nothing can happen any more: run again, or say that it did not happen. Where
 * only the other side deduplicates, running again is safe, but the earlier attempt may still arrive: while there is no
 * time to run again the call stays unknown.
 */
const settleAbsent = async (ctx: RouterContext, call: StoredCall, because: 'fence' | 'dedupe'): Promise<StoredCall> => {
  const { deadline, epoch, left } = call.value;
  if (left) return call;
  if (ctx.clock.now() > deadline || epoch >= MAX_EPOCH)
    return because === 'fence' ? settleFound(ctx, call, errorOutcome('not_applied')) : call;
  const change = await changeClaim(ctx, call, (claim) =>
    claim?.epoch === epoch ? moveClaim(claim, { type: 'rerun', because }) : undefined,
  );
  return change.done ? requeue(ctx, call, change.value.epoch) : call;
};

/**
 * Protocol 5: `released(e)` is stored before epoch e is published. The call must be in sight of the sweep again before
 * it can run: the entry of an unknown one may have been removed at the end of its window.
 */
export const requeue = async (ctx: RouterContext, call: StoredCall, epoch: number): Promise<StoredCall> => {
  const { actor, callId } = call.value;
  const entry: OpenEntry = { callId, actor, openedAt: ctx.clock.now() };
  await createRecord(ctx.ports.open, openKey(actor.tenant, callId), entry, { clock: ctx.clock });
  const change = await changeCall(ctx, call, { type: 'requeue', epoch });
  const queued = change.done ? change : change.current;
  if (queued?.value.state !== 'queued') return queued ?? call;
  ctx.telemetry.metrics.count('toolfabric_epochs_raised_total', { kind: queued.value.kind });
  ctx.ports.events.emit(callEvent(ctx, queued.value, 'call.released', `released.${epoch}`));
  await publishWork(ctx, queued);
  return queued;
};

/** Which safety a second run would have, by the contract and by what the probe could make sure of. */
const safetyOf = (call: CallRecord, fenced: boolean): 'fence' | 'dedupe' | undefined => {
  const fence = call.reconcile?.fence;
  if (fence === 'dedupe') return 'dedupe';
  return fenced && fence !== undefined && fence !== 'none' ? 'fence' : undefined;
};

const settleReport = async (
  ctx: RouterContext,
  call: StoredCall,
  report: z.infer<typeof ProbeReport>,
): Promise<StoredCall> => {
  if (report.answer === 'found') return settleFound(ctx, call, report.receipt);
  const safety = report.answer === 'absent' ? safetyOf(call.value, report.fence) : undefined;
  return safety === undefined ? call : settleAbsent(ctx, call, safety);
};

/** Takes in the answer of a probe. An old answer, to an epoch that is over, changes nothing. */
export const settleProbe = async (
  ctx: RouterContext,
  delivery: Delivery,
  result: ResultMessage,
  probe: { parent: string; n: number },
): Promise<void> => {
  const call = await readCall(ctx, result.tenant, probe.parent);
  const report = ProbeReport.safeParse(result.outcome.data);
  const current = call?.value.state === 'unknown' && call.value.probe?.asked === probe.n;
  // Only the kind that was asked may answer.
  const isAsked = call !== undefined && delivery.subject.split('.')[1] === call.value.kind;
  // Its first delivery may have ended the call, and then not closed it: an unknown call that was left has no sweep.
  if (call && isAsked && isFinal(call.value.state) && delivery.deliveryCount > 1)
    return closeCall(ctx, call, () => delivery.ack());
  if (!call || !report.success || !current || !isAsked) return delivery.ack();
  const after = await settleReport(ctx, call, report.data);
  if (after.value.state === 'unknown' || after.value.state === 'queued') return delivery.ack();
  await closeCall(ctx, after, () => delivery.ack());
};
