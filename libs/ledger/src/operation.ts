import type { CallRecord, OperationRecord } from '@toolfabric/contract';

/** How long the record of an operation is kept when its contract says nothing else, in milliseconds. */
export const OPERATION_WINDOW_MS = 30 * 86_400_000;

/** What a call finds when it takes its operation (protocol 4). */
export type OperationVerdict = 'held' | 'joined' | 'conflict' | 'take_over';

export const judgeOperation = (op: OperationRecord, call: { callId: string; argsHash: string }): OperationVerdict => {
  if (op.callId === call.callId && op.state !== 'free') return 'held';
  if (op.state === 'free') return 'take_over';
  return op.argsHash === call.argsHash ? 'joined' : 'conflict';
};

/** After the end of the call that holds it: free when nothing happened, so that a later call may take it. */
export const operationAfter = (call: CallRecord): OperationRecord['state'] => {
  if (call.state === 'unknown') return 'held';
  return call.result?.sideEffect === 'none' && call.state !== 'ok' ? 'free' : 'done';
};
