import type { CallRecord, FabricEvent } from '@toolfabric/contract';
import { proposalAttributes } from '@toolfabric/kernel';
import { resultAttributes } from './result-attributes.ts';
import type { RouterContext } from './router-context.ts';

type Attributes = FabricEvent['attributes'];

/** An event about a call. Its id follows from the call and the step, so that a repeated step stores nothing new. */
export const callEvent = (
  ctx: Pick<RouterContext, 'clock'>,
  call: CallRecord,
  type: FabricEvent['type'],
  step: string,
  attributes: Attributes = {},
): FabricEvent => ({
  id: `${call.callId}:${step}`,
  type,
  service: 'router',
  tenant: call.actor.tenant,
  at: ctx.clock.now(),
  callId: call.callId,
  taskId: call.taskId,
  actor: call.actor,
  attributes: { tool: call.tool.name, version: call.tool.version, epoch: call.epoch, ...attributes },
});

/** What a call was when it was accepted, for every row about it. */
export const recordAttributes = (call: CallRecord): Attributes => ({
  digest: call.tool.digest,
  kind: call.kind,
  handler: call.handler,
  effect: call.effect,
  ...(call.risk === undefined ? {} : { risk: call.risk }),
  argsHash: call.argsHash,
  rule: call.decision.rule,
  policyVersion: call.decision.policyVersion,
  ...(call.decision.account === undefined ? {} : { account: call.decision.account }),
  ...(call.approvalId === undefined ? {} : { approvalId: call.approvalId }),
  ...proposalAttributes(call),
});

/** A person acted in the place of the agent: changed what was to be done, or told what had happened. */
const takenOver = ({ replaces, result, unknownAt }: CallRecord): Attributes => {
  const wasReplaced = result?.error?.type === 'approval_denied' && result.evidence?.some(({ kind }) => kind === 'call');
  const wasTold = unknownAt !== undefined && result?.evidence?.some(({ kind }) => kind === 'person');
  if (replaces === undefined && wasReplaced !== true && wasTold !== true) return {};
  return { takenOver: true, ...(replaces === undefined ? {} : { replaces }) };
};

/** The event that L2 speaks of. A call that is settled after `unknown` has one for each of the two ends. */
export const terminalEvent = (ctx: RouterContext, call: CallRecord): FabricEvent => {
  const settledAt = call.settledAt ?? call.createdAt;
  return callEvent(ctx, call, 'call.settled', `settled.${call.state}`, {
    ...recordAttributes(call),
    ...resultAttributes(call.result),
    ...takenOver(call),
    state: call.state,
    acceptedAt: call.createdAt,
    settledAt,
    durationMs: settledAt - call.createdAt,
  });
};
