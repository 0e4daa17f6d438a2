import type { CallRequest, CallView } from '@toolfabric/contract';
import { type FabricError, proposalAttributes, proposedTool } from '@toolfabric/kernel';
import type { RouterServices } from '../router-services.ts';
import { viewRefusal } from '../view-call.ts';
import { requestedCallId } from './requested-call-id.ts';

/**
 * The answer to a request above a quota. It costs no round trip, and one event a second and tenant: a flood of refusals
 * must not be a flood of its own.
 */
export const refuseLimited = ({ ctx, quotas }: RouterServices, request: CallRequest, error: FabricError): CallView => {
  const { actor, taskId, tool } = request;
  const now = ctx.clock.now();
  const callId = requestedCallId(request, now);
  if (quotas.mayTell(actor.tenant))
    ctx.ports.events.emit({
      id: `${callId}:refused:${now}`,
      type: 'call.refused',
      service: 'router',
      tenant: actor.tenant,
      at: now,
      callId,
      taskId,
      actor,
      attributes: {
        error: error.type,
        errorLayer: error.toToolError().layer,
        tool: proposedTool(tool),
        ...proposalAttributes(request),
      },
    });
  const [name = '', version = ''] = tool.split('@');
  return viewRefusal({ callId, taskId, tool: { name, version } }, error, now);
};
