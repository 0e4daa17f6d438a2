import type { ApprovalRecord, Approver } from '@toolfabric/contract';
import { maySee } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { approvalKey, isAnswered } from '@toolfabric/ledger';
import { readCall } from '../change-call.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import { expireApproval } from './change-approval.ts';

const ID = /^[a-z0-9-]{1,64}$/;

/** What this person may not see is refused exactly like what does not exist. */
export const readApproval = async (
  ctx: RouterContext,
  approver: Approver,
  approvalId: string,
): Promise<ApprovalRecord> => {
  const stored = ID.test(approvalId)
    ? await ctx.ports.approvals.get(approvalKey(approver.tenant, approvalId))
    : undefined;
  if (stored === undefined || !maySee(approver, stored.value))
    throw new FabricError('not_found', 'there is no such approval, or this token may not see it');
  return stored.value;
};

export const closed = (why: string): FabricError => new FabricError('approval_closed', `${why}; nothing was run`);

/**
 * The call that waits for this answer. Throws `approval_closed` when none does any more: an answer that comes too late
 * runs nothing, and what is left of the approval is closed.
 */
export const waitingCall = async (ctx: RouterContext, approval: ApprovalRecord): Promise<StoredCall> => {
  const { actor, callId, approvalId } = approval;
  const call = await readCall(ctx, actor.tenant, callId);
  if (call === undefined) throw closed('the call was never accepted');
  if (call.value.state === 'awaiting_approval') return call;
  // Another's yes may be about to be used: only what has ended needs none any more.
  if (isAnswered(call.value.state)) await expireApproval(ctx, actor.tenant, approvalId);
  throw closed(`the call is ${call.value.state} by now`);
};
