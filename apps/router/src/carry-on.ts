import type { CallRecord } from '@toolfabric/contract';
import { isAnswered } from '@toolfabric/ledger';
import { readCall } from './change-call.ts';
import { dispatchCall, publishWork } from './dispatch.ts';
import { leaveResource } from './resource-lease.ts';
import type { RouterContext } from './router-context.ts';

/** It failed for a reason that passes, and the time of its next epoch has come. */
const isDue = ({ clock }: RouterContext, { state, notBefore }: CallRecord): boolean =>
  state === 'queued' && notBefore !== undefined && clock.now() >= notBefore;

/** A call that got what it waited for. When this fails, the sweep finds the call where it stands. */
export const carryOn = async (ctx: RouterContext, tenant: string, callId: string): Promise<void> => {
  try {
    const call = await readCall(ctx, tenant, callId);
    if (!call) return;
    if (isAnswered(call.value.state)) await leaveResource(ctx, call.value);
    else if (isDue(ctx, call.value)) await publishWork(ctx, call);
    else if (call.value.state === 'accepted' || call.value.state === 'joined') await dispatchCall(ctx, call);
  } catch (thrown) {
    ctx.log.warn('carry_on.failed', { callId, cause: thrown instanceof Error ? thrown.name : 'thrown' });
  }
};
