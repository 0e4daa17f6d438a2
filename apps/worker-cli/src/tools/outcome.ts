import type { Outcome, Truncation } from '@toolfabric/contract';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';

/** What was read out of a workspace is never trusted, whoever put it there. */
export const fromWorkspace = (
  workspace: OpenWorkspace,
  outcome: Omit<Outcome, 'status' | 'trust' | 'origin' | 'truncation'>,
  truncation: readonly Truncation[] = [],
): Outcome => ({
  status: 'ok',
  ...outcome,
  ...(truncation.length === 0 ? {} : { truncation: [...truncation] }),
  trust: 'untrusted',
  origin: workspace.origin,
});
