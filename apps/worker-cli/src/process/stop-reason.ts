import { FabricError } from '@toolfabric/kernel';

/** Why a call was stopped. */
export const stopReason = (signal: AbortSignal): FabricError =>
  signal.reason instanceof FabricError ? signal.reason : new FabricError('cancelled', 'the call was stopped');

export const throwIfStopped = (signal: AbortSignal): void => {
  if (signal.aborted) throw stopReason(signal);
};
