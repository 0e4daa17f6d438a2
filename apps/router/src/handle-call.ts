import { ANSWERED, type CallRecord, type CallRequest, type CallView, MAX_DEPTH } from '@toolfabric/contract';
import { isSameActor } from '@toolfabric/governance';
import {
  callIdFor,
  depthOf,
  digestOf,
  FabricError,
  proposalAttributes,
  proposedTool,
  toFabricError,
} from '@toolfabric/kernel';
import { approvalIdFor } from './approvals/approval-id.ts';
import { approvalFor, askForApproval } from './approvals/ask-for-approval.ts';
import { readCall } from './change-call.ts';
import { checkCall } from './check-call.ts';
import { checkRoom } from './check-room.ts';
import type { Leave } from './quota/quotas.ts';
import { refuseLimited } from './quota/refuse-limited.ts';
import { requestedCallId } from './quota/requested-call-id.ts';
import type { RouterServices } from './router-services.ts';
import { startCall } from './start-call.ts';
import { viewCall, viewRefusal } from './view-call.ts';
import { WatchedCall } from './watch-calls.ts';

/** These refusals say nothing about the request itself: the caller sends it again as it is. */
const isOutage = (error: FabricError): boolean => error.type === 'unavailable' || error.type === 'internal';

const refuse = (services: RouterServices, watched: WatchedCall, callId: string, error: FabricError): CallView => {
  const { ctx } = services;
  const { request } = watched;
  const now = ctx.clock.now();
  watched.refused(callId, error);
  if (error.type === 'rate_limited') return refuseLimited(services, request, error);
  const [name = '', version = ''] = request.tool.split('@');
  ctx.ports.events.emit({
    id: `${callId}:refused:${now}`,
    type: 'call.refused',
    service: 'router',
    tenant: request.actor.tenant,
    at: now,
    callId,
    taskId: request.taskId,
    actor: request.actor,
    attributes: {
      error: error.type,
      errorLayer: error.toToolError().layer,
      tool: proposedTool(request.tool),
      ...proposalAttributes(request),
    },
  });
  return viewRefusal({ callId, taskId: request.taskId, tool: { name, version } }, error, now);
};

const isSameProposal = (call: CallRecord, { tool, args }: CallRequest): boolean =>
  (tool === call.tool.name || tool === `${call.tool.name}@${call.tool.version}`) &&
  depthOf(args, MAX_DEPTH) <= MAX_DEPTH &&
  digestOf(args) === call.argsHash;

/**
 * A request that was accepted before gets its call, even when the checks would refuse it by now: the answer to a retry
 * is the call, not a second opinion.
 */
const answer = async (services: RouterServices, watched: WatchedCall): Promise<CallView> => {
  const { ctx } = services;
  const { request } = watched;
  const now = ctx.clock.now();
  let callId = '';
  try {
    callId = callIdFor(request.actor, request.requestKey, now);
    checkRoom(services);
    const { record, confirm } = await checkCall(services, request, callId);
    watched.checked(record);
    await askForApproval(ctx, await approvalFor(services, record));
    const call = await startCall(ctx, record, confirm);
    return viewCall(call.value);
  } catch (thrown) {
    services.waiting.leave(approvalIdFor(callId));
    if (!(thrown instanceof FabricError) || isOutage(thrown)) throw thrown;
    const earlier =
      callId === '' || thrown.type === 'conflict' ? undefined : await readCall(ctx, request.actor.tenant, callId);
    if (!earlier || !isSameActor(earlier.value.actor, request.actor)) return refuse(services, watched, callId, thrown);
    if (isSameProposal(earlier.value, request)) return viewCall(earlier.value);
    return refuse(
      services,
      watched,
      callId,
      new FabricError('conflict', 'this request key was used before, for another call'),
    );
  }
};

const enter = ({ ctx, quotas }: RouterServices, request: CallRequest): Leave | FabricError => {
  try {
    return quotas.enter(request, requestedCallId(request, ctx.clock.now()));
  } catch (thrown) {
    if (thrown instanceof FabricError) return thrown;
    throw thrown;
  }
};

/** Design §3, row 2. */
export const handleCall = async (services: RouterServices, request: CallRequest): Promise<CallView> => {
  const watched = new WatchedCall(services.ctx, request);
  const leave = enter(services, request);
  if (leave instanceof FabricError) {
    watched.refused('', leave);
    const refusal = refuseLimited(services, request, leave);
    watched.answered(refusal);
    return refusal;
  }
  let isAccepted = true;
  try {
    const view = await answer(services, watched);
    isAccepted = view.state !== 'refused' && !ANSWERED.has(view.state);
    watched.answered(view);
    return view;
  } catch (thrown) {
    watched.failed(toFabricError(thrown));
    throw thrown;
  } finally {
    leave(isAccepted);
  }
};
