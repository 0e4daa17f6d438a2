import type { CallRecord, OperationRecord } from '@toolfabric/contract';

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
