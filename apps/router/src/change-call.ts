import type { CallRecord } from '@toolfabric/contract';
import { advanceCall, type CallEvent, type Change, callKey, changeRecord } from '@toolfabric/ledger';
import type { RouterContext, StoredCall } from './router-context.ts';

const isAsSeen = (current: CallRecord, seen: CallRecord, event: CallEvent): boolean =>
  event.type === 'late' || (current.state === seen.state && current.epoch === seen.epoch);

/**
 * One event on one call, stored by compare-and-set. It was decided on the state that the caller saw: when the call has
 * moved on since, nothing is written, and the caller decides anew on what `current` says.
 */
export const changeCall = async (
  ctx: RouterContext,
  call: StoredCall,
  event: CallEvent,
): Promise<Change<CallRecord>> => {
  const { actor, callId } = call.value;
  const change = await changeRecord(
    ctx.ports.calls,
    callKey(actor.tenant, callId),
    (current) => (current && isAsSeen(current, call.value, event) ? advanceCall(current, event) : undefined),
    { clock: ctx.clock, believed: call },
  );
  const recent = ctx.recent.get(callId);
  if (change.done && recent) ctx.recent.set(callId, { ...recent, call: change });
  return change;
};

export const readCall = (ctx: RouterContext, tenant: string, callId: string): Promise<StoredCall | undefined> =>
  ctx.ports.calls.get(callKey(tenant, callId));
