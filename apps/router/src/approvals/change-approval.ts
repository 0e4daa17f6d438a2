import type { ApprovalRecord } from '@toolfabric/contract';
import { type ApprovalMove, approvalKey, type Change, changeRecord, moveApproval } from '@toolfabric/ledger';
import type { RouterContext } from '../router-context.ts';
import { emitApproval } from './approval-events.ts';

/** One move of one approval, by compare-and-set: what is decided about it is decided on what is stored. */
export const changeApproval = (
  ctx: RouterContext,
  tenant: string,
  approvalId: string,
  choose: (approval: ApprovalRecord) => ApprovalMove | undefined,
): Promise<Change<ApprovalRecord>> =>
  changeRecord(
    ctx.ports.approvals,
    approvalKey(tenant, approvalId),
    (approval) => {
      const move = approval && choose(approval);
      return move && moveApproval(approval, move);
    },
    { clock: ctx.clock },
  );

/** There is nothing left to approve: nobody is asked any more, and what was granted is of no use. */
export const expireApproval = async (ctx: RouterContext, tenant: string, approvalId: string): Promise<void> => {
  const change = await changeApproval(ctx, tenant, approvalId, () => ({ type: 'expire', at: ctx.clock.now() }));
  if (change.done) emitApproval(ctx, change.value, 'approval.expired', 'approval.expired');
};
