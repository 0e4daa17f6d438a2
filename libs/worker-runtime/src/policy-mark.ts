import { POLICY_BELL, type WorkBody } from '@toolfabric/contract';
import type { WorkerContext } from './worker-context.ts';

/** Takes in what a bell says about the policy; false when it is about a call. A number only ever grows. */
export const hearPolicy = ({ policy }: Pick<WorkerContext, 'policy'>, text: string): boolean => {
  if (!text.startsWith(POLICY_BELL)) return false;
  const watermark = Number(text.slice(POLICY_BELL.length));
  if (Number.isSafeInteger(watermark)) policy.watermark = Math.max(policy.watermark, watermark);
  return true;
};

/** Decided under a policy that is not the last any more. A probe only looks, under the decision of its parent. */
export const isOvertaken = ({ policy }: Pick<WorkerContext, 'policy'>, { mode, watermark }: WorkBody): boolean =>
  mode === 'run' && watermark !== undefined && watermark < policy.watermark;
