import { stat } from 'node:fs/promises';
import type { User } from '../process/run-process.ts';
import { mayAccess } from './access.ts';
import { type AllowedDirectory, refused } from './open-allowed.ts';
import { descriptorPath, hasDescriptorPaths } from './open-root.ts';
import { showPath } from './path-parts.ts';
import { NOBODY } from './workspace-users.ts';

const isBareRepository = async ({ handle, path }: AllowedDirectory): Promise<boolean> => {
  const base = hasDescriptorPaths ? descriptorPath(handle) : path;
  const found = await Promise.allSettled(['HEAD', 'objects', 'refs'].map((name) => stat(`${base}/${name}`)));
  return found.every(({ status }) => status === 'fulfilled');
};

export interface DirectoryUsers {
  readonly owner: User;
  readonly child: User | undefined;
}

/** The group of root opens too much to be the group of a child. */
const lowGroup = (gid: number): number => (gid === 0 ? NOBODY.gid : gid);

/**
 * Who the children of an existing directory run as: its owner. A directory of root is refused unless a person allowed
 * that at set-up; then edits keep root's ownership and children run as `nobody`, who sees what everybody may read.
 * Where the worker is not root, everything is done as the worker.
 */
export const usersOfDirectory = async (
  directory: AllowedDirectory,
  { worker, allowRootOwned }: { readonly worker: User; readonly allowRootOwned: boolean },
): Promise<DirectoryUsers> => {
  const shown = showPath(directory.path);
  if (await isBareRepository(directory)) throw refused(`${shown} is a bare repository`, 'Ask for a clone of it.');
  if (worker.uid !== 0) return { owner: worker, child: undefined };
  const stats = await directory.handle.stat();
  const { uid, gid } = stats;
  if (uid !== 0) return { owner: { uid, gid }, child: { uid, gid: lowGroup(gid) } };
  if (!allowRootOwned) throw refused(`${shown} belongs to root`);
  if (!mayAccess(stats, NOBODY, 'enter') || !mayAccess(stats, NOBODY, 'read')) {
    throw refused(`${shown} belongs to root, and nobody else may read it`);
  }
  return { owner: { uid, gid }, child: NOBODY };
};
