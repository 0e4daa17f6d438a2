import { constants, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { throwIfStopped } from '../process/stop-reason.ts';
import { mayAccess, notPermitted } from '../workspace/access.ts';
import { noteOf } from '../workspace/leftovers.ts';
import { makeDirectories } from '../workspace/make-directories.ts';
import type { OpenRoot } from '../workspace/open-root.ts';
import { type Place, pathOf } from '../workspace/place.ts';
import { replaceFile } from '../workspace/replace-file.ts';
import { temporaryName } from '../workspace/reserved-names.ts';
import type { WorkspaceLock } from '../workspace/workspace-lock.ts';
import { ABSENT, type EditPlan, MOST_BYTES } from './plan-edit.ts';

export interface Carrying {
  readonly root: OpenRoot;
  readonly lock: WorkspaceLock;
  readonly signal: AbortSignal;
  /** The target holds the new content. */
  readonly afterRename: () => void;
}

const changed = (): FabricError =>
  new FabricError('stale_version', 'the file changed while the edit was prepared; nothing was written');

/** What the name holds at this moment, in the directory that was walked into; links are not followed. */
const hashAt = async (file: string): Promise<string> => {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MOST_BYTES) throw changed();
    return sha256Hex(await handle.readFile());
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return ABSENT;
    if (code === 'ELOOP') throw changed();
    throw thrown;
  }
};

const lastLook = async (place: Place, plan: EditPlan, signal: AbortSignal): Promise<void> => {
  throwIfStopped(signal);
  if ((await hashAt(join(place.directory, place.name))) !== plan.before) throw changed();
};

const checkDirectory = async (place: Place, { owner }: OpenRoot): Promise<void> => {
  const stats = await stat(place.directory);
  if (!mayAccess(stats, owner, 'write')) throw notPermitted('write in its directory');
};

/** New files belong to the user of the workspace; where the worker is not root that is itself. */
const ownerFor = (plan: EditPlan, root: OpenRoot) => plan.owner ?? (process.getuid?.() === 0 ? root.owner : undefined);

/**
 * Writes what was planned. Under the lock of the workspace from before `started` on (protocol 7 (c)); looks at the
 * target once more before the rename, so that a change by somebody outside the fabric is not lost. Throws before the
 * rename with nothing written; after it only `ReplacementUncertain`.
 */
export const carryOut = async (plan: EditPlan, { root, lock, signal, afterRename }: Carrying): Promise<void> => {
  const owner = ownerFor(plan, root);
  const place = await makeDirectories(root, plan.path, owner);
  try {
    if (pathOf(place) !== plan.path) throw changed();
    if ((place.entry === undefined) !== (plan.before === ABSENT)) throw changed();
    await checkDirectory(place, root);
    const temporary = temporaryName();
    await lock.leave(noteOf(place.parts.slice(0, -1).join('/'), temporary));
    const beforeRename = () => lastLook(place, plan, signal);
    const { content, mode } = plan;
    await replaceFile({ place, temporary, content, owner, mode, beforeRename, afterRename });
    await lock.leave('');
  } finally {
    await place.close();
  }
};
