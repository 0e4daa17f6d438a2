import { errorOutcome } from '@toolfabric/ledger';
import { endCall } from '../close-call.ts';
import { consumeApproval } from '../consume-approval.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import { refusedOutcome } from './refused-outcome.ts';

export type TakenApproval =
  /** `policyVersion` is that of the policy which said the same again; after `until` it may not begin. */
  | { readonly taken: true; readonly policyVersion?: string; readonly until?: number }
  | { readonly taken: false; readonly call: StoredCall };

/**
 * Protocol 3 (3): first the policy of now is asked again, then the approval is used up. What has changed since a person
 * looked at it ends the call here, before anything is published (L4).
 */
export const takeApproval = async (ctx: RouterContext, stored: StoredCall): Promise<TakenApproval> => {
  const call = stored.value;
  if (call.approvalId === undefined) return { taken: true };
  const again = await ctx.decideAgain(call);
  if (again.verdict === 'task_ended')
    return { taken: false, call: await endCall(ctx, stored, errorOutcome('task_ended'), 0) };
  if (again.verdict === 'over_budget') {
    const denied = { ...errorOutcome('budget_exceeded', again.message), status: 'denied' as const };
    return { taken: false, call: await endCall(ctx, stored, denied, 0) };
  }
  if (again.verdict === 'changed')
    return { taken: false, call: await endCall(ctx, stored, refusedOutcome('other', undefined), 0) };
  const { verdict, approval } = await consumeApproval(ctx, call);
  ctx.faults.at('router.after-approval');
  if (verdict === 'consumed') return { taken: true, policyVersion: again.policyVersion, until: again.until };
  return { taken: false, call: await endCall(ctx, stored, refusedOutcome(verdict, approval), 0) };
};
