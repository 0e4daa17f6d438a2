import type { CallRecord } from '@toolfabric/contract';
import { type ApprovalVerdict, approvalKey, changeRecord, judgeApproval } from '@toolfabric/ledger';
import type { RouterContext } from './router-context.ts';

/** How the approval of a waiting call stands; nothing is changed. */
export const lookAtApproval = async (ctx: RouterContext, call: CallRecord): Promise<ApprovalVerdict> => {
  if (call.approvalId === undefined) return 'consumed';
  const approval = await ctx.ports.approvals.get(approvalKey(call.actor.tenant, call.approvalId));
  return approval ? judgeApproval(approval.value, call, ctx.clock.now()) : 'pending';
};

/** Protocol 3 (3): consumed at most once, by this call alone (L4). */
export const consumeApproval = async (ctx: RouterContext, call: CallRecord): Promise<ApprovalVerdict> => {
  if (call.approvalId === undefined) return 'consumed';
  const change = await changeRecord(
    ctx.ports.approvals,
    approvalKey(call.actor.tenant, call.approvalId),
    (approval) =>
      approval && judgeApproval(approval, call, ctx.clock.now()) === 'consume'
        ? { ...approval, state: 'consumed' as const }
        : undefined,
    { clock: ctx.clock },
  );
  if (change.done) return 'consumed';
  return change.current ? judgeApproval(change.current.value, call, ctx.clock.now()) : 'pending';
};
