import { type CallRecord, MAX_EPOCH, type OpenEntry, type Outcome, type ResultMessage } from '@toolfabric/contract';
import {
  createRecord,
  errorOutcome,
  isAsking,
  isFenced,
  isFinal,
  judgeEnd,
  moveClaim,
  openKey,
} from '@toolfabric/ledger';
import type { Delivery } from '@toolfabric/ports';
import { callEvent } from './call-events.ts';
import { changeCall, readCall } from './change-call.ts';
import { changeClaim } from './claims.ts';
import { closeCall, endCall } from './close-call.ts';
import { dispatchCall, publishWork } from './dispatch.ts';
import { judgeOf } from './judge-output.ts';
import { type Report, readReport } from './read-report.ts';
import type { RouterContext, StoredCall } from './router-context.ts';

type Found = Extract<Report, { answer: 'found' }>;

/** The end that a receipt makes: one of the tool's own is judged, what another tool found is not. */
const settleFound = async (ctx: RouterContext, call: StoredCall, { receipt, by }: Found): Promise<StoredCall> => {
  const judge = await judgeOf(ctx, call.value.tool);
  const move = { type: 'resolve', outcome: receipt, ...(by === 'query' ? { by } : {}) } as const;
  const change = await changeClaim(ctx, call, (claim) => moveClaim(claim, move));
  if (!change.done) return call;
  const end = by === 'query' ? receipt : judgeEnd(change.value, receipt, judge);
  return endCall(ctx, call, end, call.value.epoch);
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
    return because === 'fence'
      ? settleFound(ctx, call, { answer: 'found', receipt: errorOutcome('not_applied'), by: 'probe' })
      : call;
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
  await openAgain(ctx, call.value);
  const change = await changeCall(ctx, call, { type: 'requeue', epoch });
  const queued = change.done ? change : change.current;
  if (queued?.value.state !== 'queued') return queued ?? call;
  ctx.telemetry.metrics.count('toolfabric_epochs_raised_total', { kind: queued.value.kind });
  ctx.ports.events.emit(callEvent(ctx, queued.value, 'call.released', `released.${epoch}`));
  await publishWork(ctx, queued);
  return queued;
};

/** Create-or-verify of the entry that keeps a call in sight of the sweep. */
export const openAgain = async (ctx: RouterContext, { actor, callId }: CallRecord): Promise<void> => {
  const entry: OpenEntry = { callId, actor, openedAt: ctx.clock.now() };
  await createRecord(ctx.ports.open, openKey(actor.tenant, callId), entry, { clock: ctx.clock });
};

/** Which safety a second run would have, by the contract and by what the probe could make sure of. */
const safetyOf = (call: CallRecord, n: number, fenced: boolean): 'fence' | 'dedupe' | undefined => {
  const fence = call.reconcile?.fence;
  if (fence === 'dedupe') return 'dedupe';
  // What a worker says of the way out proves nothing: a router saw it closed, or nobody did.
  if (fence === 'egress') return isFenced(call, n) ? 'fence' : undefined;
  return fenced && fence !== undefined && fence !== 'none' ? 'fence' : undefined;
};

/** Nothing follows from it, but whoever looks at the call is told: proven absent is another thing than not found yet. */
const keepAnswer = async (
  ctx: RouterContext,
  call: StoredCall,
  n: number,
  answer: Exclude<Report['answer'], 'found'>,
): Promise<StoredCall> => {
  const change = await changeCall(ctx, call, { type: 'answered', n, answer });
  return change.done ? change : (change.current ?? call);
};

/**
 * Protocol 4: what the other side knows of the key before its first run. Nothing of it is under way here, so what is
 * proven absent needs no fence.
 */
const settleHistory = async (ctx: RouterContext, call: StoredCall, n: number, report: Report): Promise<StoredCall> => {
  if (report.answer === 'found') {
    const judge = await judgeOf(ctx, call.value.tool);
    const receipt: Outcome = report.by === 'query' ? report.receipt : judge(report.receipt);
    return endCall(ctx, call, receipt, 0);
  }
  if (report.answer !== 'absent') return keepAnswer(ctx, call, n, report.answer);
  const clear = await changeCall(ctx, call, { type: 'clear_history' });
  return clear.done ? dispatchCall(ctx, clear) : (clear.current ?? call);
};

const settleReport = async (ctx: RouterContext, call: StoredCall, n: number, report: Report): Promise<StoredCall> => {
  if (call.value.state === 'accepted') return settleHistory(ctx, call, n, report);
  if (report.answer === 'found') return settleFound(ctx, call, report);
  const safety = report.answer === 'absent' ? safetyOf(call.value, n, report.fence) : undefined;
  const after = safety === undefined ? call : await settleAbsent(ctx, call, safety);
  return after.value.state === 'unknown' ? keepAnswer(ctx, after, n, report.answer) : after;
};

/** Takes in the answer of a probe. An old answer, to an epoch that is over, changes nothing. */
export const settleProbe = async (
  ctx: RouterContext,
  delivery: Delivery,
  result: ResultMessage,
  probe: { parent: string; n: number },
): Promise<void> => {
  const call = await readCall(ctx, result.tenant, probe.parent);
  // Only the kind that was asked may answer.
  const isAsked = call !== undefined && delivery.subject.split('.')[1] === call.value.kind;
  // Its first delivery may have ended the call, and then not closed it: an unknown call that was left has no sweep.
  if (call && isAsked && isFinal(call.value.state) && delivery.deliveryCount > 1)
    return closeCall(ctx, call, () => delivery.ack());
  if (!call || !isAsked || !isAsking(call.value) || call.value.probe?.asked !== probe.n) return delivery.ack();
  const report = await readReport(ctx, call.value, probe.n, result.outcome);
  const after = await settleReport(ctx, call, probe.n, report);
  if (!isFinal(after.value.state)) return delivery.ack();
  await closeCall(ctx, after, () => delivery.ack());
};
