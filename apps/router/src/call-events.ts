import type { CallRecord, FabricEvent } from '@toolfabric/contract';
import type { RouterContext } from './router-context.ts';

type Attributes = FabricEvent['attributes'];

/** An event about a call. Its id follows from the call and the step, so that a repeated step stores nothing new. */
export const callEvent = (
  ctx: RouterContext,
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
  attributes: { tool: call.tool.name, version: call.tool.version, epoch: call.epoch, ...attributes },
});

/** The event that L2 speaks of. A call that is settled after `unknown` has one for each of the two ends. */
export const terminalEvent = (ctx: RouterContext, call: CallRecord): FabricEvent =>
  callEvent(ctx, call, 'call.settled', `settled.${call.state}`, {
    state: call.state,
    sideEffect: call.result?.sideEffect ?? 'none',
    attempt: call.result?.attempt ?? 0,
    error: call.result?.error?.type ?? '',
    durationMs: (call.settledAt ?? call.createdAt) - call.createdAt,
    rule: call.decision.rule,
    policyVersion: call.decision.policyVersion,
  });
