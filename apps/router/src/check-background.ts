import type { CallRequest, DecisionSummary, ToolContract } from '@toolfabric/contract';
import { FabricError, type Pace } from '@toolfabric/kernel';

/** Throws `invalid_request` when a call is to run apart, and its contract does not allow it. */
export const checkBackground = (request: CallRequest, { name, execution }: ToolContract): void => {
  if (request.background !== true || execution.background === true) return;
  throw new FabricError('invalid_request', `background: ${name} does not run apart from its caller`, {
    fields: [{ field: '/background', expected: 'left out, or a tool whose contract allows it' }],
  });
};

/**
 * Protocol 9: a call runs apart from its delivery when it was asked for so, or when it may take longer than a delivery
 * waits. `background: false` changes nothing about the second: how a call is delivered is not the caller's to say.
 */
export const runsApart = (
  { background }: CallRequest,
  { execution }: ToolContract,
  { limits }: DecisionSummary,
  { ackWaitMs }: Pick<Pace, 'ackWaitMs'>,
): boolean => execution.background === true && (background === true || limits.timeoutMs > ackWaitMs);
