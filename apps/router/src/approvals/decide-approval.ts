import type { ApprovalRecord, Approver } from '@toolfabric/contract';
import { isSamePerson, mayDecide, mayDeny } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { type ApprovalMove, isApprovalOver, taskKey } from '@toolfabric/ledger';
import { stopCall } from '../cancel-call.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import { emitApproval } from './approval-events.ts';
import { changeApproval } from './change-approval.ts';
import { checkApproval } from './check-approval.ts';
import { closed, readApproval, waitingCall } from './read-approval.ts';

export interface Answer {
  readonly approver: Approver;
  readonly verdict: 'grant' | 'deny';
  readonly reason?: string | undefined;
  readonly batch?: { readonly batchId: string; readonly until: number };
  readonly replacedBy?: string;
}

const deciderOf = ({ user, tokenId, freshAt }: Approver) => ({
  user,
  tokenId,
  ...(freshAt === undefined ? {} : { freshAt }),
});

/** The same answer again, whose first reply was lost. Whoever has logged in since then says more than before. */
const isSameAnswer = (approval: ApprovalRecord, { approver, verdict, replacedBy }: Answer, now: number): boolean => {
  const { state, decidedBy, grants = [] } = approval;
  if (state === 'pending')
    return (
      verdict === 'grant' &&
      grants.some(({ user }) => isSamePerson(user, approver.user)) &&
      mayDecide(approver, approval, now).type !== 'grant'
    );
  const isYes = state === 'granted' || state === 'consumed';
  const isIts = decidedBy?.user === approver.user && decidedBy.tokenId === approver.tokenId;
  return isIts && approval.replacedBy === replacedBy && (verdict === 'grant' ? isYes : state === 'denied');
};

const verdictOf = (approval: ApprovalRecord, { approver, verdict }: Answer, now: number) =>
  verdict === 'grant' ? mayDecide(approver, approval, now) : mayDeny(approver, approval);

/** Throws `forbidden` for whoever may not answer. */
const moveFor = (approval: ApprovalRecord, answer: Answer, now: number): ApprovalMove => {
  const { approver, verdict, reason, batch, replacedBy } = answer;
  const may = verdictOf(approval, answer, now);
  if (may.type === 'refuse') throw new FabricError('forbidden', may.why);
  const common = { by: deciderOf(approver), at: now, ...(reason === undefined ? {} : { reason }) };
  if (verdict === 'deny') return { type: 'deny', ...common, ...(replacedBy === undefined ? {} : { replacedBy }) };
  return may.type === 'first_of_two' ? { type: 'first_yes', ...common } : { type: 'grant', ...common, ...batch };
};

const emitAnswer = (ctx: RouterContext, approval: ApprovalRecord, { approver, verdict, batch }: Answer): void => {
  const isFirst = approval.state === 'pending';
  const step = isFirst ? `approval.first_yes.${approval.grants?.length ?? 0}` : `approval.${approval.state}`;
  emitApproval(ctx, approval, 'approval.decided', step, {
    verdict: isFirst ? 'first_yes' : verdict,
    user: approver.user,
    tokenId: approver.tokenId,
    fresh: approver.freshAt !== undefined,
    ...(batch === undefined ? {} : { batchId: batch.batchId }),
    ...(approval.replacedBy === undefined ? {} : { replacedBy: approval.replacedBy }),
  });
};

/**
 * Stores one answer. Of two that come at once the first one counts, and the other hears `approval_closed`; the same
 * answer again gets the same reply.
 */
export const storeAnswer = async (
  ctx: RouterContext,
  approval: ApprovalRecord,
  answer: Answer,
): Promise<ApprovalRecord> => {
  const now = ctx.clock.now();
  const change = await changeApproval(ctx, approval.actor.tenant, approval.approvalId, (current) =>
    isSameAnswer(current, answer, now) ? undefined : moveFor(current, answer, now),
  );
  if (change.done) {
    emitAnswer(ctx, change.value, answer);
    return change.value;
  }
  const current = change.current?.value;
  if (current === undefined) throw closed('the approval is gone');
  if (isSameAnswer(current, answer, now)) return current;
  throw closed(isApprovalOver(current, now) ? 'its time is over' : `the approval is ${current.state} by now`);
};

/** A task that has ended wants nothing done any more: what still waits in it is taken away. */
export const refuseEndedTask = async (ctx: RouterContext, call: StoredCall): Promise<void> => {
  const { actor, taskId } = call.value;
  const task = (await ctx.ports.tasks.get(taskKey(actor.tenant, taskId)))?.value;
  if (task?.state === 'open') return;
  await stopCall(ctx, call, 'cancelled');
  throw closed('the task of this call has ended');
};

/**
 * One person's answer to one approval. A yes acts at once: the call is carried on here, and by the sweep when this
 * router dies over it.
 */
export const decideApproval = async (
  ctx: RouterContext,
  approvalId: string,
  answer: Answer,
): Promise<ApprovalRecord> => {
  const approval = await readApproval(ctx, answer.approver, approvalId);
  if (approval.state !== 'pending' && isSameAnswer(approval, answer, ctx.clock.now())) return approval;
  // Who may not answer hears that, and nothing of how the call stands.
  moveFor(approval, answer, ctx.clock.now());
  const call = await waitingCall(ctx, approval);
  await refuseEndedTask(ctx, call);
  const after = await storeAnswer(ctx, approval, answer);
  if (after.state !== 'pending') await checkApproval(ctx, call);
  return after;
};
