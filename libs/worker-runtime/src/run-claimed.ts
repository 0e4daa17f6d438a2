import type { Claim, Outcome, WorkBody } from '@toolfabric/contract';
import { claimKey, judgeDelivery } from '@toolfabric/ledger';
import { type Delivery, StoreUnavailable } from '@toolfabric/ports';
import { HeldClaim } from './held-claim.ts';
import { publishResult } from './publish-result.ts';
import { runTool } from './run-tool.ts';
import { toolOf } from './tool-of.ts';
import { watchExecution } from './watch-execution.ts';
import type { WorkerContext } from './worker-context.ts';

const whenNotTaken = async (
  ctx: WorkerContext,
  delivery: Delivery,
  body: WorkBody,
  claim: Claim | undefined,
): Promise<void> => {
  const { epoch, background } = body;
  switch (judgeDelivery({ epoch, sequence: delivery.sequence, background }, claim)) {
    case 'republish':
      // What somebody else told is the router's own; in the place of a receipt it would keep the true one out.
      if (claim?.outcome && claim.toldBy === undefined) return publishResult(ctx, body, claim.outcome, delivery);
      return delivery.ack();
    case 'acknowledge':
      return delivery.ack();
    default:
      return delivery.nak(ctx.pace.nakDelayMs);
  }
};

/**
 * The claim went elsewhere while the tool ran. What it says is a late receipt, also when it says that nothing happened:
 * the router settles an orphaned call by it, or keeps it as evidence (protocol 8). An end that is not known tells
 * nothing.
 */
const finishLate = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody, outcome: Outcome): Promise<void> => {
  if (outcome.status === 'unknown') return delivery.ack();
  ctx.telemetry.metrics.count('toolfabric_claims_lost_total', { kind: ctx.kind });
  ctx.log.warn('claim.lost', { callId: body.callId, epoch: body.epoch });
  return publishResult(ctx, body, outcome, delivery);
};

/** Protocol 6: the claim is `done`, then the result is published, then the delivery is acknowledged. */
const finish = async (
  ctx: WorkerContext,
  delivery: Delivery,
  body: WorkBody,
  held: HeldClaim,
  outcome: Outcome,
): Promise<void> => {
  const stored = await held.finish(outcome);
  if (!stored) return finishLate(ctx, delivery, body, outcome);
  ctx.faults.at('worker.after-done');
  await publishResult(ctx, body, stored, delivery);
};

const runHeld = async (
  ctx: WorkerContext,
  delivery: Delivery,
  body: WorkBody,
  held: HeldClaim,
  ready: Promise<void> | undefined,
): Promise<void> => {
  const watch = watchExecution(ctx, delivery, body, () => held.check());
  const begin = (intent: Parameters<HeldClaim['start']>[0]) => held.start(intent);
  try {
    await ready;
    const run = (traced: WorkBody) => runTool(ctx, toolOf(ctx, body), traced, { signal: watch.signal, begin });
    const outcome = await ctx.runs.watch(ctx, delivery, body, run);
    await finish(ctx, delivery, body, held, outcome);
  } finally {
    watch.stop();
  }
};

/** A delivery that was acknowledged already: whatever else is said of it to the server means nothing. */
const acknowledged = ({ subject, data, sequence, deliveryCount, storedAt }: Delivery): Delivery => ({
  subject,
  data,
  sequence,
  deliveryCount,
  ...(storedAt === undefined ? {} : { storedAt }),
  ack: () => {},
  ackSync: async () => {},
  nak: () => {},
  working: () => {},
});

/**
 * Protocol 9: the claim is stored, so the message has done its work and is acknowledged. When that is lost the message
 * comes again, and whoever gets it acknowledges it. What ends the execution after this is the claim alone: an outcome
 * in it that could not be published is settled by the sweep.
 */
const runApart = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody, held: HeldClaim): Promise<void> => {
  const acknowledging = delivery.ackSync().then(
    () => ctx.faults.at('worker.background-acknowledged'),
    () => ctx.log.warn('background.not_acknowledged', { callId: body.callId }),
  );
  const running = runHeld(ctx, acknowledged(delivery), body, held, acknowledging).catch((thrown: unknown) => {
    const cause = thrown instanceof StoreUnavailable ? 'store unavailable' : (thrown as Error)?.name;
    ctx.log.error('background.failed', { callId: body.callId, cause });
  });
  ctx.background.run(running);
  await acknowledging;
};

/** Without a place nothing is taken. A message that came before may have been answered for meanwhile. */
const whenFull = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody): Promise<void> => {
  if (delivery.deliveryCount <= 1) return delivery.nak(ctx.pace.nakDelayMs);
  const claim = await ctx.ports.claims.get(claimKey(ctx.kind, body.tenant, body.callId));
  return whenNotTaken(ctx, delivery, body, claim?.value);
};

/**
 * Protocol 6: the policy has moved since it was decided. The router alone decides again and sends another message; this
 * one waits for that, or is acknowledged once its call has gone on.
 */
export const handBack = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody): Promise<void> => {
  const { tenant, callId, epoch } = body;
  if (body.claim === 'none') {
    const result = await ctx.ports.results.get(ctx.kind, tenant, callId, epoch);
    return result === undefined ? delivery.nak(ctx.pace.nakDelayMs) : delivery.ack();
  }
  const claim = await ctx.ports.claims.get(claimKey(ctx.kind, tenant, callId));
  return whenNotTaken(ctx, delivery, body, claim?.value);
};

/** An execution under a claim: within its delivery, or apart from it. Resolves when the delivery is over. */
export const runClaimed = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody): Promise<void> => {
  const isApart = body.background === true;
  if (isApart && !ctx.background.tryTake()) return whenFull(ctx, delivery, body);
  let isHanded = false;
  try {
    ctx.faults.at('worker.before-claim');
    const taken = await HeldClaim.take(ctx, body, delivery.sequence);
    if (!('held' in taken)) return await whenNotTaken(ctx, delivery, body, taken.found);
    ctx.faults.at('worker.claimed');
    isHanded = isApart;
    await (isApart ? runApart(ctx, delivery, body, taken.held) : runHeld(ctx, delivery, body, taken.held, undefined));
  } finally {
    if (isApart && !isHanded) ctx.background.giveBack();
  }
};
