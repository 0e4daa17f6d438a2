import type { ApprovalRecord, BatchOutcome, RPC, RpcReply } from '@toolfabric/contract';
import { batchProblem, mayDecide, memberProblem } from '@toolfabric/governance';
import { digestOf, FabricError } from '@toolfabric/kernel';
import type { z } from 'zod';
import type { RouterContext, StoredCall } from '../router-context.ts';
import type { RouterServices } from '../router-services.ts';
import { approvalIdFor } from './approval-id.ts';
import { checkApproval } from './check-approval.ts';
import { refuseEndedTask, storeAnswer } from './decide-approval.ts';
import { readApproval, waitingCall } from './read-approval.ts';

type Batch = z.output<(typeof RPC)['decideBatch']['request']>;

interface Member {
  readonly approval: ApprovalRecord;
  readonly call: StoredCall;
}

/** Throws `forbidden` or `invalid_request` that names the call: a batch is granted as a whole or not at all. */
const memberOf = async (ctx: RouterContext, batch: Batch, callId: string): Promise<Member> => {
  const { approver } = batch;
  const approval = await readApproval(ctx, approver, approvalIdFor(callId));
  const may = mayDecide(approver, approval, ctx.clock.now());
  if (may.type === 'refuse') throw new FabricError('forbidden', `${callId}: ${may.why}`);
  const problem = memberProblem(approval, batch);
  if (problem !== undefined) throw new FabricError('invalid_request', `${callId} does not belong here: ${problem}`);
  const call = await waitingCall(ctx, approval);
  await refuseEndedTask(ctx, call);
  return { approval, call };
};

/** One that somebody else has answered since it was looked at stays as it is, and the outcome says so. */
const grantOne = async (
  ctx: RouterContext,
  { approver, until, reason }: Batch,
  batchId: string,
  { approval, call }: Member,
): Promise<BatchOutcome> => {
  const { callId, approvalId } = approval;
  try {
    const answer = { approver, verdict: 'grant', reason, batch: { batchId, until } } as const;
    const { state } = await storeAnswer(ctx, approval, answer);
    await checkApproval(ctx, call);
    return { callId, approvalId, state };
  } catch (thrown) {
    if (!(thrown instanceof FabricError) || thrown.type !== 'approval_closed') throw thrown;
    return { callId, approvalId, state: (await readApproval(ctx, approver, approvalId)).state };
  }
};

/** PO-5: one yes for several calls, of one scope, one risk level and one window; every member is checked before the first is granted. */
export const decideBatch = async ({ ctx }: RouterServices, batch: Batch): Promise<RpcReply<'decideBatch'>> => {
  const problem = batchProblem(batch, ctx.clock.now());
  if (problem !== undefined) throw new FabricError('invalid_request', `no such batch: ${problem}`);
  const { approver, callIds, scope, risk, until } = batch;
  const batchId = digestOf({ approver: approver.user, tenant: approver.tenant, callIds, scope, risk, until });
  const members: Member[] = [];
  for (const callId of callIds) members.push(await memberOf(ctx, batch, callId));
  const outcomes: BatchOutcome[] = [];
  for (const member of members) outcomes.push(await grantOne(ctx, batch, batchId.slice(0, 32), member));
  return { batchId: batchId.slice(0, 32), outcomes };
};
