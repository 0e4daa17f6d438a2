import { type CallRecord, RING_SLOTS, type UnknownEntry, WEEK_MS } from '@toolfabric/contract';
import { createRecord, unknownKey } from '@toolfabric/ledger';
import { readCall } from '../change-call.ts';
import type { RouterContext } from '../router-context.ts';

/** A call that is unknown stands where people look, until it is known. */
export const keepInSight = async (ctx: RouterContext, call: CallRecord): Promise<void> => {
  if (call.unknownAt === undefined) return;
  const { actor, callId, unknownAt: since } = call;
  const key = unknownKey(actor.tenant, callId);
  const { unknowns } = ctx.ports;
  if (call.state === 'unknown') {
    await createRecord(unknowns, key, { callId, actor, since } satisfies UnknownEntry, { clock: ctx.clock });
    return;
  }
  const entry = await unknowns.get(key);
  if (entry) await unknowns.remove(key, entry.revision);
};

/** Entries whose calls are no longer kept have nothing that a person could look at. */
export const pruneUnknowns = async (ctx: RouterContext): Promise<number> => {
  const { unknowns } = ctx.ports;
  let removed = 0;
  for (const key of await unknowns.keys('unknown')) {
    const entry = await unknowns.get(key);
    if (entry === undefined || ctx.clock.now() < entry.value.since + (RING_SLOTS - 1) * WEEK_MS) continue;
    const { actor, callId } = entry.value;
    if ((await readCall(ctx, actor.tenant, callId)) !== undefined) continue;
    if (await unknowns.remove(key, entry.revision)) removed += 1;
  }
  return removed;
};
