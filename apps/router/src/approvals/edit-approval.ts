import {
  ANSWERED,
  type ApprovalRecord,
  type CallRecord,
  type CallRequest,
  type CallView,
  type RPC,
  type RpcReply,
} from '@toolfabric/contract';
import { mayDecide, mayDeny } from '@toolfabric/governance';
import { callIdFor, FabricError } from '@toolfabric/kernel';
import type { z } from 'zod';
import { readCall } from '../change-call.ts';
import { checkCall } from '../check-call.ts';
import { checkRoom } from '../check-room.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import type { RouterServices } from '../router-services.ts';
import { startCall } from '../start-call.ts';
import { viewCall } from '../view-call.ts';
import { emitApproval } from './approval-events.ts';
import { approvalIdFor } from './approval-id.ts';
import { approvalFor, askForApproval } from './ask-for-approval.ts';
import { checkApproval } from './check-approval.ts';
import { decideApproval, refuseEndedTask, storeAnswer } from './decide-approval.ts';
import { closed, readApproval, waitingCall } from './read-approval.ts';
import { refuseMarks } from './refuse-marks.ts';
import { tellApproval } from './tell-approval.ts';

type Edit = z.output<(typeof RPC)['editApproval']['request']>;

/** The call of the one who asked, with other arguments: it goes the whole way once more, as theirs. */
const requestFor = (call: CallRecord, { args, requestKey }: Edit): CallRequest => {
  const { actor, taskId, tool, priority, background, turn, modelCallId, model, catalogueDigest, traceparent } = call;
  const told = { background, turn, modelCallId, model, catalogueDigest, roles: call.roles, traceparent };
  return {
    actor,
    taskId,
    requestKey,
    tool: `${tool.name}@${tool.version}`,
    args,
    priority,
    deadlineMs: Math.max(1, Math.min(86_400_000, call.deadline - call.createdAt)),
    ...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)),
  };
};

/** It says whose place it takes; a key that the caller gave names the same business action still. */
const inPlaceOf = (checked: CallRecord, old: CallRecord): CallRecord => {
  const { operation, operationMs, history, callId } = old;
  const record = { ...checked, replaces: callId };
  if (record.operation !== undefined || operation === undefined) return record;
  return {
    ...record,
    operation,
    ...(operationMs === undefined ? {} : { operationMs }),
    // An old key is asked about before its first run, whoever wrote the arguments (protocol 4).
    ...(history === undefined ? {} : { history }),
    state: record.state === 'queued' ? 'accepted' : record.state,
  };
};

/** What the call brought forth is for who asked; who answers sees how it stands. */
const withoutResult = ({ result, ...view }: CallView): CallView =>
  ANSWERED.has(view.state) || result === undefined ? view : { ...view, result };

const forbidUnlessDecider = ({ approver }: Edit, approval: ApprovalRecord, now: number): void => {
  for (const may of [mayDecide(approver, approval, now), mayDeny(approver, approval)])
    if (may.type === 'refuse') throw new FabricError('forbidden', may.why);
};

const emitTakeOver = (ctx: RouterContext, edit: Edit, replaced: ApprovalRecord, callId: string): void => {
  const attributes = { user: edit.approver.user, tokenId: edit.approver.tokenId, by: 'edit', replacedBy: callId };
  emitApproval(ctx, replaced, 'person.took_over', 'person.took_over', attributes);
  const taken = { ...replaced, callId };
  emitApproval(ctx, taken, 'person.took_over', 'person.took_over', { ...attributes, replaces: replaced.callId });
};

/** The new call may need no yes by the policy of now; otherwise the editor's own counts for it as far as it may. */
const approveNew = async (ctx: RouterContext, edit: Edit, call: StoredCall): Promise<ApprovalRecord | undefined> => {
  const { approvalId, state } = call.value;
  if (approvalId === undefined) return undefined;
  const { approver, reason } = edit;
  if (state !== 'awaiting_approval') return readApproval(ctx, approver, approvalId);
  return decideApproval(ctx, approvalId, { approver, verdict: 'grant', reason });
};

/** Every check of the new call, and whether this person may say yes to it: what it is about may lie elsewhere. */
const checkNew = async (services: RouterServices, edit: Edit, old: CallRecord, callId: string) => {
  const { ctx } = services;
  const { record, confirm, takePlace } = await checkCall(services, requestFor(old, edit), callId, { inPlaceOf: old });
  const next = inPlaceOf(record, old);
  const asked = await approvalFor(services, next);
  if (asked !== undefined) forbidUnlessDecider(edit, asked, ctx.clock.now());
  return {
    async start(): Promise<StoredCall> {
      await takePlace();
      await askForApproval(ctx, asked);
      return startCall(ctx, next, confirm);
    },
  };
};

interface Replaced {
  readonly approval: ApprovalRecord;
  readonly old: StoredCall;
  /** Of the call that takes the place of `old`. */
  readonly callId: string;
}

const replace = async (
  services: RouterServices,
  edit: Edit,
  { approval, old, callId }: Replaced,
): Promise<RpcReply<'editApproval'>> => {
  const { ctx } = services;
  const { approver, reason } = edit;
  const fresh = await checkNew(services, edit, old.value, callId);
  const replaced = await storeAnswer(ctx, approval, { approver, verdict: 'deny', reason, replacedBy: callId });
  const call = await fresh.start();
  emitTakeOver(ctx, edit, replaced, callId);
  await checkApproval(ctx, old);
  const granted = await approveNew(ctx, edit, call);
  const after = (await readCall(ctx, call.value.actor.tenant, callId)) ?? call;
  return {
    approval: tellApproval(ctx, granted ?? replaced),
    replaced: tellApproval(ctx, replaced),
    call: withoutResult(viewCall(after.value)),
  };
};

type Entering = Pick<CallRequest, 'actor' | 'tool'> & { readonly callId: string };

/** RT-6: the new call counts as one of the actor whose call it is. Throws `rate_limited`. */
const withinQuotas = async (
  { quotas, waiting }: RouterServices,
  { actor, tool, callId }: Entering,
  run: () => Promise<RpcReply<'editApproval'>>,
): Promise<RpcReply<'editApproval'>> => {
  const leave = quotas.enter({ actor, tool }, callId);
  let isAccepted = false;
  try {
    const reply = await run();
    isAccepted = !ANSWERED.has(reply.call.state);
    return reply;
  } catch (thrown) {
    waiting.leave(approvalIdFor(callId));
    throw thrown;
  } finally {
    leave(isAccepted);
  }
};

/**
 * A person changes the arguments and approves them. The new arguments pass every check as a call of the one who asked,
 * before anything is stored; then the old approval is denied, naming its successor, so that never both can run; then
 * the new call is accepted and approved. Each step is create-or-verify: a retry with the same request key goes on.
 */
export const editApproval = async (services: RouterServices, edit: Edit): Promise<RpcReply<'editApproval'>> => {
  const { ctx } = services;
  const { approver, approvalId, requestKey } = edit;
  checkRoom(services);
  const approval = await readApproval(ctx, approver, approvalId);
  const now = ctx.clock.now();
  forbidUnlessDecider(edit, approval, now);
  const callId = callIdFor(approval.actor, requestKey, now);
  if (callId === approval.callId) throw new FabricError('conflict', 'this request key is that of the call itself');
  const old = await readCall(ctx, approval.actor.tenant, approval.callId);
  if (old === undefined) throw closed('the call was never accepted');
  refuseMarks(approval, old.value.args, edit.args);
  if (approval.replacedBy !== callId) await refuseEndedTask(ctx, await waitingCall(ctx, approval));
  const tool = old.value.tool.name;
  return withinQuotas(services, { actor: approval.actor, tool, callId }, () =>
    replace(services, edit, { approval, old, callId }),
  );
};
