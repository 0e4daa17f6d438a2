import type { Json } from '@toolfabric/kernel';
import type { ProbeAnswer } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { scanTree } from '../changes/scan-tree.ts';
import { digestOf, MOST_ENTRIES } from '../changes/watch-changes.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import type { RunRecords } from './run-record.ts';

/** What `beginEffect` was given. */
const Intent = z.object({ run: z.string(), at: z.number(), place: z.string(), tree: z.string() });

const notVisible = (reason: string): ProbeAnswer => ({ answer: 'not_visible', reason });

/** Of a run with a network that left no receipt, nobody can tell what it did outside: it is never made again unasked. */
export const unseenOutside = (answer: ProbeAnswer, intent: Json | undefined): ProbeAnswer => {
  const parsed = z.object({ network: z.literal(true) }).safeParse(intent);
  if (answer.answer !== 'absent' || !parsed.success) return answer;
  return notVisible('the run was cut in the middle, and what it did outside cannot be seen');
};

/**
 * What became of a run whose worker gave no receipt. To be asked under the lock of the workspace, which the sandbox of
 * that run held too: nothing of it runs any more (protocol 7 (c)). A run that ended left its outcome beside the
 * workspace. One that never began, or that changed nothing, is absent and may be run again. One that was cut in the
 * middle is `not_visible`: what it did can be seen, whether it had done all of it cannot. With `repeatable`, which says
 * that only the answer of a whole run counts, such a run too may be made again.
 */
export const probeRun = async (
  records: RunRecords,
  { record: { id }, root }: OpenWorkspace,
  intent: Json | undefined,
  { repeatable }: { readonly repeatable: boolean },
): Promise<ProbeAnswer> => {
  const parsed = Intent.safeParse(intent);
  if (!parsed.success) return notVisible('the execution left no intent');
  const { run, at, place, tree } = parsed.data;
  if (place !== records.place) return notVisible('it ran on another machine, or before this one was started anew');
  const record = records.find(id, run, at);
  if (record === 'forgotten') return notVisible('too much has run in this workspace since');
  if (record?.state === 'ended') return { answer: 'found', receipt: record.outcome };
  if (record === undefined) return { answer: 'absent', fence: true };
  if (repeatable) return unseenOutside({ answer: 'absent', fence: true }, intent);
  const now = await scanTree(root.handle.fd, { entries: MOST_ENTRIES });
  if (now.complete && digestOf(now) === tree) return unseenOutside({ answer: 'absent', fence: true }, intent);
  return notVisible('the run was cut in the middle, and the workspace is not as it was before');
};
