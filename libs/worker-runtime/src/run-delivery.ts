import type { DeadLetter, WorkBody } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type Delivery, StoreUnavailable } from '@toolfabric/ports';
import { openDelivery } from './open-delivery.ts';
import { isOvertaken } from './policy-mark.ts';
import { publishResult } from './publish-result.ts';
import { handBack, runClaimed } from './run-claimed.ts';
import { runTool } from './run-tool.ts';
import { toolOf } from './tool-of.ts';
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
  ctx.telemetry.metrics.count('toolfabric_deliveries_refused_total', { kind: ctx.kind });
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

const noEffect = async (): Promise<never> => {
  throw new FabricError('internal', 'a claimless call has no effect to begin');
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
  const run = (traced: WorkBody) => runTool(ctx, toolOf(ctx, body), traced, execution);
  const outcome = await ctx.runs.watch(ctx, delivery, body, run).finally(() => watch.stop());
  await publishResult(ctx, body, outcome, delivery);
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
    if (isOvertaken(ctx, body)) return await handBack(ctx, delivery, body);
    await (body.claim === 'none' ? runClaimless(ctx, delivery, body) : runClaimed(ctx, delivery, body));
  } catch (thrown) {
    const unavailable = thrown instanceof StoreUnavailable;
    const reason = unavailable ? 'unavailable' : 'internal';
    ctx.telemetry.metrics.count('toolfabric_delivery_failures_total', { kind: ctx.kind, reason });
    ctx.log.error('delivery.failed', {
      subject: delivery.subject,
      sequence: delivery.sequence,
      cause: unavailable ? 'store unavailable' : thrown instanceof Error ? thrown.name : typeof thrown,
    });
    delivery.nak(ctx.pace.nakDelayMs);
  }
};
