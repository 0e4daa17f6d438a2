import type { ApprovalRecord, CallRecord } from '@toolfabric/contract';
import { boundDigest } from '@toolfabric/governance';
import { type ApprovalVerdict, approvalKey, judgeApproval } from '@toolfabric/ledger';
import { emitApproval } from './approvals/approval-events.ts';
import { changeApproval } from './approvals/change-approval.ts';
import type { RouterContext } from './router-context.ts';

export interface SeenApproval {
  readonly verdict: ApprovalVerdict;
  readonly approval: ApprovalRecord | undefined;
}

const judge = (ctx: RouterContext, approval: ApprovalRecord, call: CallRecord): ApprovalVerdict =>
  judgeApproval(approval, call, ctx.clock.now(), boundDigest(call, approval));

/** How the approval of a waiting call stands; nothing is changed. */
export const lookAtApproval = async (ctx: RouterContext, call: CallRecord): Promise<SeenApproval> => {
  if (call.approvalId === undefined) return { verdict: 'consumed', approval: undefined };
  const approval = (await ctx.ports.approvals.get(approvalKey(call.actor.tenant, call.approvalId)))?.value;
  return { verdict: approval ? judge(ctx, approval, call) : 'pending', approval };
};

/** Protocol 3 (3): consumed at most once, by this call alone (L4). */
export const consumeApproval = async (ctx: RouterContext, call: CallRecord): Promise<SeenApproval> => {
  const { approvalId, actor } = call;
  if (approvalId === undefined) return { verdict: 'consumed', approval: undefined };
  const change = await changeApproval(ctx, actor.tenant, approvalId, (approval) =>
    judge(ctx, approval, call) === 'consume' ? { type: 'consume' } : undefined,
  );
  if (change.done) {
    emitApproval(ctx, change.value, 'approval.consumed', 'approval.consumed');
    return { verdict: 'consumed', approval: change.value };
  }
  const approval = change.current?.value;
  return { verdict: approval ? judge(ctx, approval, call) : 'pending', approval };
};
