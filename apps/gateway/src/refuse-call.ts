import type { CallView } from '@toolfabric/contract';
import type { FabricError } from '@toolfabric/kernel';
import { splitTool } from './read-proposal.ts';

/** A refusal as a model sees any other result: nothing was recorded and nothing happened. */
export const refusedView = (
  call: { readonly callId: string; readonly taskId: string; readonly tool: string },
  error: FabricError,
  now: number,
): CallView => {
  const { name, version = '' } = splitTool(call.tool.slice(0, 120).toWellFormed());
  const { callId, taskId } = call;
  const tool = { name, version };
  return {
    callId,
    taskId,
    tool,
    state: 'refused',
    createdAt: now,
    settledAt: now,
    result: {
      status: 'error',
      summary: error.message,
      error: error.toToolError(),
      sideEffect: 'none',
      trust: 'trusted',
      callId,
      tool,
      attempt: 0,
    },
  };
};
