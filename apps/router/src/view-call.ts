import type { CallRecord, CallView, Claim, ToolResult } from '@toolfabric/contract';
import { ERROR_TABLE } from '@toolfabric/contract';
import type { FabricError } from '@toolfabric/kernel';
import { isLive } from '@toolfabric/ledger';
import { isReconciling } from './close-call.ts';

/** The handle that a caller gets while a person is asked. */
const askingResult = (call: CallRecord): ToolResult => ({
  status: 'needs_approval',
  summary: 'A person must approve this action; the call waits and holds nothing.',
  sideEffect: 'none',
  trust: 'trusted',
  callId: call.callId,
  tool: { name: call.tool.name, version: call.tool.version },
  decision: call.decision,
  attempt: 0,
});

/** What everybody outside sees. `running` is derived from the claim, never stored. */
export const viewCall = (call: CallRecord, claim?: Claim): CallView => {
  const result = call.state === 'awaiting_approval' ? askingResult(call) : call.result;
  return {
    callId: call.callId,
    state: call.state === 'queued' && isLive(claim) ? 'running' : call.state,
    taskId: call.taskId,
    tool: { name: call.tool.name, version: call.tool.version },
    createdAt: call.createdAt,
    ...(call.settledAt === undefined ? {} : { settledAt: call.settledAt }),
    ...(call.approvalId === undefined ? {} : { approvalId: call.approvalId }),
    ...(isReconciling(call) ? { reconciling: true } : {}),
    ...(result === undefined ? {} : { result }),
  };
};

/** An answer that was never recorded: the checks refused the call. */
export const viewRefusal = (
  request: { callId: string; taskId: string; tool: { name: string; version: string } },
  error: FabricError,
  now: number,
): CallView => {
  const isDenied = ERROR_TABLE[error.type].layer === 'policy';
  return {
    callId: request.callId,
    state: 'refused',
    taskId: request.taskId,
    tool: request.tool,
    createdAt: now,
    settledAt: now,
    result: {
      status: isDenied ? 'denied' : 'error',
      summary: error.message.slice(0, 4096),
      sideEffect: 'none',
      trust: 'trusted',
      error: error.toToolError(),
      callId: request.callId,
      tool: request.tool,
      attempt: 0,
    },
  };
};
