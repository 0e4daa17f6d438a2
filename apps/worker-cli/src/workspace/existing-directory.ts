import { realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import type { User } from '../process/run-process.ts';
import { mayAccess } from './access.ts';
import { showPath } from './path-parts.ts';
import { isGitName } from './reserved-names.ts';
import { NOBODY } from './workspace-users.ts';

export interface DirectoryRules {
  /** Directories at or below which a task may be given a directory or clone one. */
  readonly roots: readonly string[];
  /** The state of this worker: no workspace may hold it or lie in it. */
  readonly state: string;
}

const refused = (message: string, hint?: string): FabricError =>
  new FabricError('workspace_refused', message, hint === undefined ? {} : { hint });

const holds = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);

const realOf = async (path: string): Promise<string> => {
  try {
    return await realpath(path);
  } catch (thrown) {
    throw new FabricError('workspace_missing', `there is no directory ${showPath(path)}`, { cause: thrown });
  }
};

const realRoots = async (roots: readonly string[]): Promise<string[]> => {
  const settled = await Promise.allSettled(roots.map((root) => realpath(root)));
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
};

/**
 * The real path of a directory of the host that a task asks for, links resolved before anything is compared. Throws
 * `workspace_missing` and `workspace_refused`.
 */
export const checkDirectory = async (path: string, { roots, state }: DirectoryRules): Promise<string> => {
  if (path.includes('\0') || !path.startsWith('/')) throw refused('a workspace is named by its absolute path');
  const real = await realOf(path);
  if (real === '/' || !(await realRoots(roots)).some((root) => holds(root, real))) {
    throw refused(`${showPath(path)} does not lie below a configured root`);
  }
  const own = await realpath(state);
  if (holds(real, own) || holds(own, real)) throw refused(`${showPath(path)} holds the state of this installation`);
  if (real.split(sep).some(isGitName)) throw refused(`${showPath(path)} lies in a .git directory`);
  if (!(await stat(real)).isDirectory()) throw refused(`${showPath(path)} is not a directory`);
  return real;
};

const isBareRepository = async (path: string): Promise<boolean> => {
  const found = await Promise.allSettled(['HEAD', 'objects', 'refs'].map((name) => stat(`${path}/${name}`)));
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
  path: string,
  { worker, allowRootOwned }: { readonly worker: User; readonly allowRootOwned: boolean },
): Promise<DirectoryUsers> => {
  if (await isBareRepository(path)) throw refused(`${showPath(path)} is a bare repository`, 'Ask for a clone of it.');
  if (worker.uid !== 0) return { owner: worker, child: undefined };
  const stats = await stat(path);
  const { uid, gid } = stats;
  if (uid !== 0) return { owner: { uid, gid }, child: { uid, gid: lowGroup(gid) } };
  if (!allowRootOwned) throw refused(`${showPath(path)} belongs to root`);
  if (!mayAccess(stats, NOBODY, 'enter') || !mayAccess(stats, NOBODY, 'read')) {
    throw refused(`${showPath(path)} belongs to root, and nobody else may read it`);
  }
  return { owner: { uid, gid }, child: NOBODY };
};
