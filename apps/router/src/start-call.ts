import type { CallRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { isAnswered } from '@toolfabric/ledger';
import { acceptCall } from './accept-call.ts';
import { stopCall } from './cancel-call.ts';
import { dispatchCall } from './dispatch.ts';
import type { RouterContext, StoredCall } from './router-context.ts';
import { isWithdrawn } from './withdrawn.ts';

const refusalOf = async (confirm: () => Promise<void>): Promise<FabricError | undefined> => {
  try {
    await confirm();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof FabricError) return thrown;
    throw thrown;
  }
};

/**
 * Accepted, and then found not to be allowed any more. A retry or the sweep may have published it meanwhile, so it is
 * taken away like any cancelled call: what has begun is asked to stop, and its end is told as it is (L3).
 */
const refuse = async (ctx: RouterContext, call: StoredCall): Promise<StoredCall> => {
  ctx.log.info('call.withdrawn', { callId: call.value.callId });
  return stopCall(ctx, call, 'cancelled');
};

/**
 * Protocol 3 for a call that passed the checks. A call that was accepted before is carried on from wherever it stands;
 * a call that waits for a person stops after step (1) and holds nothing (L5).
 */
export const startCall = async (
  ctx: RouterContext,
  record: CallRecord,
  confirm: () => Promise<void> = async () => {},
): Promise<StoredCall> => {
  const { call, isNew } = await acceptCall(ctx, record);
  const { state } = call.value;
  if (isAnswered(state) || state === 'awaiting_approval') return call;
  // An earlier try may have died before it published; one that did not is found by its message id.
  if (!isNew && state === 'joined') return call;
  const refusal = isNew ? await refusalOf(confirm) : undefined;
  if (refusal || (!isNew && (await isWithdrawn(ctx, call.value)))) return refuse(ctx, call);
  return dispatchCall(ctx, call);
};
