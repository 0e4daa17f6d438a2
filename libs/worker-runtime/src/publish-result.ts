import type { Outcome, ResultMessage, WorkBody } from '@toolfabric/contract';
import type { Delivery } from '@toolfabric/ports';
import type { WorkerContext } from './worker-context.ts';

const resultOf = (ctx: WorkerContext, body: WorkBody, outcome: Outcome): ResultMessage => ({
  callId: body.callId,
  tenant: body.tenant,
  epoch: body.epoch,
  outcome,
  by: ctx.incarnation,
});

/** L6: the result is stored before the delivery is acknowledged. */
export const publishResult = async (
  ctx: WorkerContext,
  body: WorkBody,
  outcome: Outcome,
  delivery: Delivery,
): Promise<void> => {
  await ctx.ports.results.createOnce(ctx.kind, resultOf(ctx, body, outcome));
  ctx.faults.at('worker.after-publish');
  delivery.ack();
};
