import { moveClaim, planRetry, type Retry, type Settlement } from '@toolfabric/ledger';
import { callEvent } from './call-events.ts';
import { changeCall } from './change-call.ts';
import { changeClaim } from './claims.ts';
import type { RouterContext, StoredCall } from './router-context.ts';

type End = Extract<Settlement, { type: 'end' }>;

/** The claim first (protocol 5); a claimless call is decided by its record alone. */
const releaseClaim = async (ctx: RouterContext, call: StoredCall): Promise<boolean> => {
  const { claim, epoch } = call.value;
  if (claim === 'none') return true;
  return (await changeClaim(ctx, call, (stored) => moveClaim(stored, { type: 'retry', epoch }))).done;
};

const tell = (ctx: RouterContext, { value: call }: StoredCall, { error, pauseMs }: Retry): void => {
  ctx.telemetry.metrics.count('toolfabric_retries_total', { kind: call.kind, type: error });
  const attributes = { epoch: call.epoch, error, pauseMs };
  ctx.ports.events.emit(callEvent(ctx, call, 'call.retried', `retried.${call.epoch}`, attributes));
};

/**
 * Another attempt in the place of an end that passes by itself. When this router dies over it, the sweep publishes what
 * stands in the record; undefined where the call is to end as its execution said, or another router was first.
 */
export const tryAgain = async (ctx: RouterContext, call: StoredCall, end: End): Promise<StoredCall | undefined> => {
  const now = ctx.clock.now();
  const retry = planRetry(call.value, end.outcome, end.attempt, { now, firstMs: ctx.pace.retryFirstMs });
  if (retry === undefined || !(await releaseClaim(ctx, call))) return undefined;
  ctx.faults.at('router.after-retry-claim');
  const { epoch, elsewhere, pauseMs } = retry;
  const change = await changeCall(ctx, call, { type: 'retry', epoch, elsewhere, notBefore: now + pauseMs });
  if (!change.done) return change.current;
  ctx.faults.at('router.after-retry');
  tell(ctx, change, retry);
  const { actor, callId } = change.value;
  void ctx.clock.sleep(pauseMs).then(() => ctx.carryOn(actor.tenant, callId));
  return change;
};
