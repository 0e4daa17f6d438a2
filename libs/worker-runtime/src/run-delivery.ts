import type { Claim, DeadLetter, Outcome, ResultMessage, WorkBody } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { judgeDelivery } from '@toolfabric/ledger';
import { type Delivery, StoreUnavailable } from '@toolfabric/ports';
import { HeldClaim } from './held-claim.ts';
import { openDelivery } from './open-delivery.ts';
import { runTool } from './run-tool.ts';
import { watchExecution } from './watch-execution.ts';
import type { WorkerContext } from './worker-context.ts';

const EXCERPT_BYTES = 3_000;

const tenantIn = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

const refuse = async (ctx: WorkerContext, delivery: Delivery, reason: string): Promise<void> => {
  const letter: DeadLetter = {
    reason,
    subject: delivery.subject,
    excerpt: Buffer.from(delivery.data.subarray(0, EXCERPT_BYTES)).toString('base64'),
    sequence: delivery.sequence,
    by: ctx.incarnation,
    at: ctx.clock.now(),
  };
  ctx.log.warn('message.refused', { reason, subject: delivery.subject, sequence: delivery.sequence });
  await ctx.ports.deadLetter(tenantIn(delivery.subject), letter);
  ctx.ports.events.emit({
    id: `${ctx.kind}:${delivery.sequence}:refused`,
    type: 'message.refused',
    service: `worker-${ctx.kind}`,
    tenant: tenantIn(delivery.subject),
    at: letter.at,
    attributes: { reason, sequence: delivery.sequence },
  });
  delivery.ack();
};

const resultOf = (ctx: WorkerContext, body: WorkBody, outcome: Outcome): ResultMessage => ({
  callId: body.callId,
  tenant: body.tenant,
  epoch: body.epoch,
  outcome,
  by: ctx.incarnation,
});

/** L6: the result is stored before the delivery is acknowledged. */
const publish = async (ctx: WorkerContext, body: WorkBody, outcome: Outcome, delivery: Delivery): Promise<void> => {
  await ctx.ports.results.createOnce(ctx.kind, resultOf(ctx, body, outcome));
  ctx.faults.at('worker.after-publish');
  delivery.ack();
};

const noEffect = async (): Promise<never> => {
  throw new FabricError('internal', 'a claimless call has no effect to begin');
};

const toolOf = (ctx: WorkerContext, body: WorkBody) => {
  const tool = ctx.tools.get(body.handler);
  if (!tool) throw new FabricError('malformed_message', 'no such handler in this worker');
  return tool;
};

/** A message that waited longer is looked up before it is run. */
const LONG_WAIT_MS = 500;

const runClaimless = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody): Promise<void> => {
  const has = () => ctx.ports.results.get(ctx.kind, body.tenant, body.callId, body.epoch);
  const waitedMs = ctx.clock.now() - (delivery.storedAt ?? ctx.clock.now());
  // A call that was cancelled or expired while it waited has its result: there is nothing left to read for.
  if ((delivery.deliveryCount > 1 || waitedMs > LONG_WAIT_MS) && (await has())) return delivery.ack();
  const check = async () => ((await has()) ? 'lost' : 'held');
  const watch = watchExecution(ctx, delivery, body, check);
  ctx.faults.at('worker.reading');
  const execution = { signal: watch.signal, begin: noEffect };
  const outcome = await runTool(ctx, toolOf(ctx, body), body, execution).finally(() => watch.stop());
  await publish(ctx, body, outcome, delivery);
};

const whenNotTaken = async (
  ctx: WorkerContext,
  delivery: Delivery,
  body: WorkBody,
  claim: Claim | undefined,
): Promise<void> => {
  switch (judgeDelivery({ epoch: body.epoch, sequence: delivery.sequence }, claim)) {
    case 'republish':
      if (claim?.outcome) return publish(ctx, body, claim.outcome, delivery);
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
  ctx.log.warn('claim.lost', { callId: body.callId, epoch: body.epoch });
  return publish(ctx, body, outcome, delivery);
};

const runClaimed = async (ctx: WorkerContext, delivery: Delivery, body: WorkBody): Promise<void> => {
  ctx.faults.at('worker.before-claim');
  const taken = await HeldClaim.take(ctx, body, delivery.sequence);
  if (!('held' in taken)) return whenNotTaken(ctx, delivery, body, taken.found);
  ctx.faults.at('worker.claimed');
  const { held } = taken;
  const watch = watchExecution(ctx, delivery, body, () => held.check());
  const begin = (intent: Parameters<HeldClaim['start']>[0]) => held.start(intent);
  try {
    const outcome = await runTool(ctx, toolOf(ctx, body), body, { signal: watch.signal, begin });
    await finish(ctx, delivery, body, held, outcome);
  } finally {
    watch.stop();
  }
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
  await publish(ctx, body, stored, delivery);
};

/**
 * The whole life of one delivery; never throws (design §3, row 4). An unavailable store leaves the delivery
 * unacknowledged: it comes again, and the claim tells how far this one came.
 */
export const runDelivery = async (ctx: WorkerContext, delivery: Delivery): Promise<void> => {
  try {
    const opened = openDelivery(ctx, delivery);
    if (!opened.ok) return await refuse(ctx, delivery, opened.reason);
    const { body } = opened;
    await (body.claim === 'none' ? runClaimless(ctx, delivery, body) : runClaimed(ctx, delivery, body));
  } catch (thrown) {
    const unavailable = thrown instanceof StoreUnavailable;
    ctx.log.error('delivery.failed', {
      subject: delivery.subject,
      sequence: delivery.sequence,
      cause: unavailable ? 'store unavailable' : thrown instanceof Error ? thrown.name : typeof thrown,
    });
    delivery.nak(ctx.pace.nakDelayMs);
  }
};
