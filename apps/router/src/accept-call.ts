import type { CallRecord, OpenEntry } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { callKey, createRecord, openKey } from '@toolfabric/ledger';
import { callEvent, recordAttributes } from './call-events.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { countAccepted } from './watch-calls.ts';

export interface Accepted {
  readonly call: StoredCall;
  /** False when the call was accepted before, by this request or an earlier try of it. */
  readonly isNew: boolean;
}

/** An abandoned record has no tool: whoever asked finds it by the key alone. */
const isSameRequest = (stored: CallRecord, call: CallRecord): boolean =>
  stored.tool.digest === '' ||
  (stored.tool.name === call.tool.name && stored.argsHash === call.argsHash && stored.taskId === call.taskId);

/**
 * Protocol 3 (1): a call is accepted when its OPEN entry and its record are both stored. Both are create-or-verify,
 * so that every retry, by whichever router, ends at the same record.
 */
export const acceptCall = async (ctx: RouterContext, call: CallRecord): Promise<Accepted> => {
  const { tenant } = call.actor;
  const entry: OpenEntry = { callId: call.callId, actor: call.actor, openedAt: ctx.clock.now() };
  const options = { clock: ctx.clock };
  const [opened, stored] = await Promise.all([
    createRecord(ctx.ports.open, openKey(tenant, call.callId), entry, options),
    createRecord(ctx.ports.calls, callKey(tenant, call.callId), call, options),
  ]);
  ctx.faults.at('router.after-open-and-call');
  if (!stored.done) {
    const found = stored.current;
    if (!found) throw new FabricError('unavailable', 'the record of the call could not be read');
    if (!isSameRequest(found.value, call))
      throw new FabricError('conflict', 'this request key was used before, with another tool or other arguments');
    return { call: found, isNew: false };
  }
  const openRevision = opened.done ? opened.revision : (opened.current?.revision ?? 0);
  ctx.recent.set(call.callId, { call: stored, openRevision });
  ctx.ports.events.emit(
    callEvent(ctx, call, 'call.accepted', 'accepted', { ...recordAttributes(call), state: call.state }),
  );
  countAccepted(ctx, call);
  return { call: stored, isNew: true };
};
