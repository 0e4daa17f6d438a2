import type { CallRecord } from '@toolfabric/contract';
import { advanceCall, type CallEvent, type Change, callKey, changeRecord } from '@toolfabric/ledger';
import type { RouterContext, StoredCall } from './router-context.ts';

/** One event on one call, stored by compare-and-set; `done: false` when the protocol does not allow it as things stand. */
export const changeCall = async (
  ctx: RouterContext,
  call: StoredCall,
  event: CallEvent,
): Promise<Change<CallRecord>> => {
  const { actor, callId } = call.value;
  const change = await changeRecord(
    ctx.ports.calls,
    callKey(actor.tenant, callId),
    (current) => current && advanceCall(current, event),
    { clock: ctx.clock, believed: call },
  );
  const recent = ctx.recent.get(callId);
  if (change.done && recent) ctx.recent.set(callId, { ...recent, call: change });
  return change;
};

export const readCall = (ctx: RouterContext, tenant: string, callId: string): Promise<StoredCall | undefined> =>
  ctx.ports.calls.get(callKey(tenant, callId));
