import type { CallRecord } from '@toolfabric/contract';
import { isAnswered } from '@toolfabric/ledger';
import { acceptCall } from './accept-call.ts';
import { dispatchCall } from './dispatch.ts';
import type { RouterContext, StoredCall } from './router-context.ts';

/**
 * Protocol 3 for a call that passed the checks. A call that was accepted before is carried on from wherever it stands;
 * a call that waits for a person stops after step (1) and holds nothing (L5).
 */
export const startCall = async (ctx: RouterContext, record: CallRecord): Promise<StoredCall> => {
  const { call, isNew } = await acceptCall(ctx, record);
  const { state } = call.value;
  if (isAnswered(state) || state === 'awaiting_approval') return call;
  // An earlier try may have died before it published; one that did not is found by its message id.
  if (!isNew && state === 'joined') return call;
  return dispatchCall(ctx, call);
};
