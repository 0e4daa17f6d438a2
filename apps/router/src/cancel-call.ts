import type { ResultMessage } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { errorOutcome, isAnswered, moveClaim } from '@toolfabric/ledger';
import { callEvent } from './call-events.ts';
import { changeClaim } from './claims.ts';
import { closeCall, endCall } from './close-call.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { settleStored } from './settle-call.ts';

type Reason = 'cancelled' | 'expired' | 'dead_letter';

/** A claimless call is ended by the same create-once publish that would end it otherwise; the first one counts. */
const endClaimless = async (ctx: RouterContext, call: StoredCall, reason: Reason): Promise<StoredCall> => {
  const { callId, actor, epoch, kind } = call.value;
  const message: ResultMessage = { callId, tenant: actor.tenant, epoch, outcome: errorOutcome(reason), by: 'router' };
  try {
    await ctx.ports.results.createOnce(kind, message);
    return await settleStored(ctx, call, false);
  } catch (thrown) {
    if (!(thrown instanceof FabricError)) throw thrown;
    // What stands there is no result, and nothing else ever will: the call ends without it.
    const ended = await endCall(ctx, call, errorOutcome('malformed_message'), 0);
    await closeCall(ctx, ended);
    return ended;
  }
};

/** Protocol 5: before `started` the router takes the execution away; after it, it can only ask. */
const endClaimed = async (ctx: RouterContext, call: StoredCall, reason: Reason): Promise<StoredCall> => {
  const { epoch } = call.value;
  const change = await changeClaim(ctx, call, (claim) =>
    claim?.state === 'started'
      ? moveClaim(claim, { type: 'request_cancel' })
      : moveClaim(claim, { type: 'cancel', epoch, reason }),
  );
  const claim = change.done ? change.value : change.current?.value;
  return claim?.state === 'started' ? call : settleStored(ctx, call, false);
};

/**
 * Cancel and deadline are the same moves with another reason (protocol 10). What is answered already stays as it is.
 * The bell makes the worker look at once; if it is lost, the next heartbeat does.
 */
export const stopCall = async (ctx: RouterContext, call: StoredCall, reason: Reason): Promise<StoredCall> => {
  const { state, callId, kind, claim } = call.value;
  if (isAnswered(state)) return call;
  if (state !== 'queued') {
    const ended = await endCall(ctx, call, errorOutcome(reason), 0);
    if (!isAnswered(ended.value.state)) return stopCall(ctx, ended, reason);
    await closeCall(ctx, ended);
    return ended;
  }
  ctx.ports.events.emit(callEvent(ctx, call.value, 'call.cancel_requested', `stop.${reason}`, { reason }));
  const after = await (claim === 'none' ? endClaimless : endClaimed)(ctx, call, reason);
  ctx.ports.bells.ring(kind, callId);
  return after;
};
