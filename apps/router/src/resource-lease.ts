import { isDeepStrictEqual } from 'node:util';
import type { CallRecord, ResourceLease } from '@toolfabric/contract';
import { askForLease, isLeaseFree, leaveLease } from '@toolfabric/governance';
import { changeRecord, isAnswered, resourceKey } from '@toolfabric/ledger';
import { RevisionConflict } from '@toolfabric/ports';
import { readCall } from './change-call.ts';
import type { RouterContext } from './router-context.ts';

type Leased = Pick<CallRecord, 'effect' | 'decision'>;

/** What a call has to itself while it writes: only outside; a workspace has a lock of its own. */
export const leasedResource = ({ effect, decision }: Leased): string | undefined =>
  effect === 'outside' ? decision.resource : undefined;

const isOver = async (ctx: RouterContext, tenant: string, callId: string): Promise<boolean> => {
  const call = await readCall(ctx, tenant, callId);
  return call !== undefined && isAnswered(call.value.state);
};

/**
 * Protocol 3 (4): the lease of the resource that a call writes, create-or-verify by its id. Who does not get it waits as
 * an accepted call, which holds no message and no worker, and goes on when the one before it is over.
 */
export const takeResource = async (ctx: RouterContext, call: CallRecord): Promise<'held' | 'waiting'> => {
  const resource = leasedResource(call);
  if (resource === undefined) return 'held';
  const { tenant } = call.actor;
  const key = resourceKey(tenant, resource);
  const ask = { callId: call.callId, acceptedAt: call.createdAt };
  const over = new Set<string>();
  for (;;) {
    const change = await changeRecord<ResourceLease>(
      ctx.ports.resources,
      key,
      (lease) => {
        const next = askForLease(lease, { ...ask, over });
        return isDeepStrictEqual(next, lease) ? undefined : next;
      },
      { clock: ctx.clock },
    );
    const holder = change.done ? change.value.holder : change.current?.value.holder;
    if (holder === call.callId) return 'held';
    // A holder whose router died over the end of its call is passed by; one look at each.
    if (holder === undefined || over.has(holder) || !(await isOver(ctx, tenant, holder))) return 'waiting';
    over.add(holder);
  }
};

const removeFree = async (ctx: RouterContext, key: string, revision: number): Promise<void> => {
  try {
    await ctx.ports.resources.remove(key, revision);
  } catch (thrown) {
    if (!(thrown instanceof RevisionConflict)) throw thrown;
  }
};

/** After the end of a call: the next one holds the lease, and is carried on at once. May be repeated. */
export const leaveResource = async (ctx: RouterContext, call: CallRecord): Promise<void> => {
  const resource = leasedResource(call);
  if (resource === undefined) return;
  const { tenant } = call.actor;
  const key = resourceKey(tenant, resource);
  const change = await changeRecord<ResourceLease>(
    ctx.ports.resources,
    key,
    (lease) => lease && leaveLease(lease, call.callId),
    { clock: ctx.clock },
  );
  const lease = change.done ? change : change.current;
  if (lease === undefined) return;
  if (isLeaseFree(lease.value)) return removeFree(ctx, key, lease.revision);
  if (change.done && lease.value.holder !== undefined) ctx.carryOn(tenant, lease.value.holder);
};
