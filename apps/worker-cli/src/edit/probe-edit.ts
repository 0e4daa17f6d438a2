import type { Json } from '@toolfabric/kernel';
import type { ProbeAnswer } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { readWhole } from '../workspace/file-content.ts';
import { findPlace } from '../workspace/find-place.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { pathOf } from '../workspace/place.ts';
import { ABSENT, MOST_BYTES } from './plan-edit.ts';
import { receiptOf } from './receipt.ts';

/** What `beginEffect` was given; parts that only make the receipt fuller may be missing. */
const Intent = z.object({
  path: z.string(),
  before: z.string(),
  after: z.string(),
  replacements: z.int().default(1),
  diff: z.string().default(''),
  diff_bytes: z.int().optional(),
});

const hashNow = async (workspace: OpenWorkspace, path: string): Promise<string> => {
  const place = await findPlace(workspace.root, path);
  try {
    if (place.entry === undefined) return ABSENT;
    // A link that appeared since leads to another file, which tells nothing about this one.
    if (pathOf(place) !== path) return 'elsewhere';
    return (await readWhole({ ...place, entry: place.entry }, MOST_BYTES)).sha256;
  } finally {
    await place.close();
  }
};

/**
 * Whether an edit took effect, told by the hash of the file. To be asked under the lock of the workspace: that nobody
 * else holds it proves that the earlier execution can write no more (protocol 7 (c)).
 */
export const answerProbe = async (
  workspace: OpenWorkspace,
  intent: Json | undefined,
  outputBytes: number,
): Promise<ProbeAnswer> => {
  const parsed = Intent.safeParse(intent);
  if (!parsed.success) return { answer: 'not_visible', reason: 'the execution left no intent' };
  const { path, before, after, replacements, diff, diff_bytes } = parsed.data;
  const now = await hashNow(workspace, path);
  if (now === before) return { answer: 'absent', fence: true };
  if (now !== after) return { answer: 'not_visible', reason: 'the file holds something else by now' };
  const receipt = {
    path,
    before,
    after,
    replacements,
    diff,
    ...(diff_bytes === undefined ? {} : { diffBytes: diff_bytes }),
  };
  return { answer: 'found', receipt: receiptOf(workspace, receipt, outputBytes) };
};
