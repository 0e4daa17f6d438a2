import type { CallLimits } from '@toolfabric/contract';
import type * as wire from './gen/toolfabric/v1/call.ts';

export const callLimitsToWire = ({ timeoutMs, outputBytes, outputTokens }: CallLimits): wire.CallLimits => ({
  timeoutMs,
  outputBytes,
  outputTokens,
});

/** As they were sent: whoever reads them checks their bounds. */
export const callLimitsFromWire = ({ timeoutMs, outputBytes, outputTokens }: wire.CallLimits): CallLimits => ({
  ...(timeoutMs === undefined ? {} : { timeoutMs }),
  ...(outputBytes === undefined ? {} : { outputBytes }),
  ...(outputTokens === undefined ? {} : { outputTokens }),
});
