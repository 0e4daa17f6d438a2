import { isAnswered } from '@toolfabric/ledger';
import { readCall } from './change-call.ts';
import { dispatchCall } from './dispatch.ts';
import { leaveResource } from './resource-lease.ts';
import type { RouterContext } from './router-context.ts';

/** A call that got what it waited for. When this fails, the sweep finds the call where it stands. */
export const carryOn = async (ctx: RouterContext, tenant: string, callId: string): Promise<void> => {
  try {
    const call = await readCall(ctx, tenant, callId);
    if (!call) return;
    if (isAnswered(call.value.state)) await leaveResource(ctx, call.value);
    else if (call.value.state === 'accepted' || call.value.state === 'joined') await dispatchCall(ctx, call);
  } catch (thrown) {
    ctx.log.warn('carry_on.failed', { callId, cause: thrown instanceof Error ? thrown.name : 'thrown' });
  }
};
