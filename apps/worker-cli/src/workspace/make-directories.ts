import { lchown, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import type { User } from '../process/run-process.ts';
import { mayAccess, notPermitted } from './access.ts';
import { findPlace } from './find-place.ts';
import type { OpenRoot } from './open-root.ts';
import type { Place } from './place.ts';

const MOST_ROUNDS = 300;

const makeDirectory = async (path: string, owner: User | undefined): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o755 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw thrown;
  }
  if (owner) await lchown(path, owner.uid, owner.gid);
};

/** Makes the missing directories above a new file, one at a time, each looked up again; gives back the place anew. */
export const makeDirectories = async (root: OpenRoot, path: string, owner: User | undefined): Promise<Place> => {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const place = await findPlace(root, path);
    const [next] = place.missing;
    if (next === undefined) return place;
    try {
      if (!mayAccess(await stat(place.directory), root.owner, 'write')) throw notPermitted('make a directory there');
      await makeDirectory(join(place.directory, next), owner);
    } finally {
      await place.close();
    }
  }
  throw new FabricError('tool_failed', 'the directories above the file do not stay in place');
};
