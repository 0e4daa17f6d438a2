import { changeCall } from '../change-call.ts';
import { closeCall, endCall } from '../close-call.ts';
import { lookAtApproval } from '../consume-approval.ts';
import { dispatchCall } from '../dispatch.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import { refusedOutcome } from './refused-outcome.ts';

/** Moves a waiting call on as far as its approval lets it; nothing while a person is still asked (L5). */
export const checkApproval = async (ctx: RouterContext, call: StoredCall): Promise<void> => {
  if (call.value.state !== 'awaiting_approval') return;
  const { verdict, approval } = await lookAtApproval(ctx, call.value);
  if (verdict === 'pending') return;
  if (verdict === 'consume' || verdict === 'consumed') {
    const approved = await changeCall(ctx, call, { type: 'approve', at: ctx.clock.now() });
    if (approved.done) await dispatchCall(ctx, approved);
    return;
  }
  await closeCall(ctx, await endCall(ctx, call, refusedOutcome(verdict, approval), 0));
};
