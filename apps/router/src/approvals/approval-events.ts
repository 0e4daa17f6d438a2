import type { ApprovalRecord, FabricEvent } from '@toolfabric/contract';
import type { RouterContext } from '../router-context.ts';
import { tellApproval } from './tell-approval.ts';

type ApprovalEvent = Extract<FabricEvent['type'], `approval.${string}` | 'person.took_over'>;

/** About an approval; once for each call and step. Never the preview: it holds what the arguments hold. */
export const emitApproval = (
  ctx: RouterContext,
  approval: ApprovalRecord,
  type: ApprovalEvent,
  step: string,
  attributes: FabricEvent['attributes'] = {},
): void => {
  const { approvalId, actor, callId, taskId, tool, risk, strength, rule, resource, account } = tellApproval(
    ctx,
    approval,
  );
  const known = { tool: tool?.name, version: tool?.version, risk, strength, rule, resource, account };
  ctx.ports.events.emit({
    id: `${callId}:${step}`,
    type,
    service: 'router',
    tenant: actor.tenant,
    at: ctx.clock.now(),
    callId,
    ...(taskId === undefined ? {} : { taskId }),
    actor,
    attributes: {
      approvalId,
      ...(Object.fromEntries(
        Object.entries(known).filter(([, value]) => value !== undefined),
      ) as FabricEvent['attributes']),
      ...attributes,
    },
  });
};
