import { type CallView, type ProgressNotice, VisibleState } from '@toolfabric/contract';
import { toolIdFromWire, toolResultFromWire, toolResultToWire } from './convert-result.ts';
import { enumCodec } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/call.ts';

const states = enumCodec('call state', wire.CallState, VisibleState.options);

export const callViewToWire = (view: CallView): wire.CallView => ({
  callId: view.callId,
  state: states.toWire(view.state) as wire.CallState,
  taskId: view.taskId,
  tool: { name: view.tool.name, version: view.tool.version },
  createdAtMs: view.createdAt,
  settledAtMs: view.settledAt,
  result: view.result && toolResultToWire(view.result),
  reconciling: view.reconciling ?? false,
  approvalId: view.approvalId,
});

/** Throws `WireMismatch` for a state that this side does not know. */
export const callViewFromWire = (view: wire.CallView): CallView => ({
  callId: view.callId,
  state: states.fromWire(view.state),
  taskId: view.taskId,
  tool: toolIdFromWire(view.tool),
  createdAt: view.createdAtMs,
  ...(view.settledAtMs === undefined ? {} : { settledAt: view.settledAtMs }),
  ...(view.result === undefined ? {} : { result: toolResultFromWire(view.result) }),
  ...(view.reconciling ? { reconciling: true } : {}),
  ...(view.approvalId === undefined ? {} : { approvalId: view.approvalId }),
});

/** A line of progress without the call that it belongs to: the stream says that. */
export type Progress = Omit<ProgressNotice, 'callId'>;

export const progressToWire = ({ seq, message, fraction }: Progress): wire.CallProgress => ({ seq, message, fraction });

export const progressFromWire = ({ seq, message, fraction }: wire.CallProgress): Progress => ({
  seq,
  message,
  ...(fraction === undefined ? {} : { fraction }),
});

const priorities = enumCodec('priority', wire.Priority, ['hi', 'lo'] as const);

export const priorityToWire = (priority: 'hi' | 'lo' | undefined): wire.Priority =>
  priority === undefined ? wire.Priority.UNSPECIFIED : (priorities.toWire(priority) as wire.Priority);

/** `hi` when it is not said; throws `WireMismatch` for one that this side does not know. */
export const priorityFromWire = (priority: wire.Priority): 'hi' | 'lo' =>
  priority === wire.Priority.UNSPECIFIED ? 'hi' : priorities.fromWire(priority);
