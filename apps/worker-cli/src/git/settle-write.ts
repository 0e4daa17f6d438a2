import type { Outcome } from '@toolfabric/contract';
import { toFabricError } from '@toolfabric/kernel';
import { unknownOutcome } from '@toolfabric/ledger';
import type { Redactor } from '@toolfabric/worker-runtime';
import { cutText } from '../output/told-error.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';

/** Whatever keeps a write of the repository from its receipt after it began leaves it unknown: its probe looks. */
export const settleWrite = async (
  workspace: OpenWorkspace,
  redactor: Redactor,
  write: () => Promise<Outcome>,
): Promise<Outcome> => {
  try {
    return await write();
  } catch (thrown) {
    const { message } = toFabricError(thrown, 'tool_failed');
    return {
      ...unknownOutcome(cutText(redactor, `The repository was being written: ${message}`, 1_000)),
      origin: workspace.origin,
    };
  }
};
