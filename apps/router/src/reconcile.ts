import { type CallRecord, MAX_EPOCH, Outcome, type ResultMessage } from '@toolfabric/contract';
import { errorOutcome, moveClaim, probeCallId, workMessageId } from '@toolfabric/ledger';
import { type Delivery, QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import { callEvent } from './call-events.ts';
import { changeCall, readCall } from './change-call.ts';
import { changeClaim, readClaim } from './claims.ts';
import { closeCall, endCall } from './close-call.ts';
import { publishWork } from './dispatch.ts';
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
  const { subject, data } = probeMessage(ctx, call, asked, claim?.intent);
  const id = workMessageId(probeCallId(call.callId, asked), 1);
  ctx.ports.events.emit(callEvent(ctx, call, 'call.probed', `probed.${asked}`, { asked }));
  await ctx.ports.work.publish(call.kind, subject, id, data).catch((thrown: unknown) => {
    if (!(thrown instanceof QueueFull || thrown instanceof StoreUnavailable)) throw thrown;
  });
};

const settleFound = async (ctx: RouterContext, call: StoredCall, receipt: Outcome): Promise<StoredCall> => {
  const change = await changeClaim(ctx, call, (claim) => moveClaim(claim, { type: 'resolve', outcome: receipt }));
  if (!change.done) return call;
  return endCall(ctx, call, receipt, call.value.epoch);
};

/** Nothing happened, and the fence says that nothing can happen any more: run again, or say so. */
const settleAbsent = async (ctx: RouterContext, call: StoredCall): Promise<StoredCall> => {
  const { deadline, epoch } = call.value;
  if (ctx.clock.now() > deadline || epoch >= MAX_EPOCH) return settleFound(ctx, call, errorOutcome('not_applied'));
  const change = await changeClaim(ctx, call, (claim) =>
    claim?.epoch === epoch ? moveClaim(claim, { type: 'rerun' }) : undefined,
  );
  return change.done ? requeue(ctx, call, change.value.epoch) : call;
};

/** Protocol 5: `released(e)` is stored before epoch e is published. */
export const requeue = async (ctx: RouterContext, call: StoredCall, epoch: number): Promise<StoredCall> => {
  const change = await changeCall(ctx, call, { type: 'requeue', epoch });
  const queued = change.done ? change : change.current;
  if (queued?.value.state !== 'queued') return queued ?? call;
  ctx.ports.events.emit(callEvent(ctx, queued.value, 'call.released', `released.${epoch}`));
  await publishWork(ctx, queued);
  return queued;
};

const hasFence = (call: CallRecord): boolean => call.reconcile !== undefined && call.reconcile.fence !== 'none';

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
  if (!call || !report.success || !current) return delivery.ack();
  let after = call;
  if (report.data.answer === 'found') after = await settleFound(ctx, call, report.data.receipt);
  else if (report.data.answer === 'absent' && report.data.fence && hasFence(call.value))
    after = await settleAbsent(ctx, call);
  if (after.value.state === 'unknown' || after.value.state === 'queued') return delivery.ack();
  await closeCall(ctx, after, () => delivery.ack());
};
