import { createHash } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError, randomId } from '@toolfabric/kernel';
import type { User } from '../process/run-process.ts';
import type { Layout } from './layout.ts';

/** User ids that belong to nobody on this machine, for clones and empty workspaces. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** Who runs for a directory of root that a person has allowed: the user `nobody`. */
export const NOBODY: User = { uid: 65_534, gid: 65_534 };

const startOf = (id: string, { first, count }: UserRange): number =>
  first + (createHash('sha256').update(id).digest().readUInt32BE(0) % count);

/** Creates the file with its content in one step; gives back whose it is. */
const takeOrRead = async (file: string, id: string): Promise<string> => {
  const aside = `${file}.${randomId()}`;
  await writeFile(aside, id, { flag: 'wx', mode: 0o600 });
  try {
    await link(aside, file);
    return id;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    return await readFile(file, 'utf8');
  } finally {
    await rm(aside, { force: true });
  }
};

/**
 * The user id of a workspace, given once: the search starts at the same id after a crash, so that a workspace finds
 * what it took before. Two workspaces never share one.
 */
export const userOfWorkspace = async (layout: Layout, range: UserRange, id: string): Promise<User> => {
  const start = startOf(id, range);
  for (let step = 0; step < range.count; step += 1) {
    const uid = range.first + ((start - range.first + step) % range.count);
    if ((await takeOrRead(join(layout.users, String(uid)), id)) === id) return { uid, gid: uid };
  }
  throw new FabricError('workspace_refused', 'every user id of the configured range belongs to another workspace');
};
