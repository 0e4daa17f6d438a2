import { constants, type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { descriptorPath, hasDescriptorPaths, O_PATH, openDirectory } from './open-root.ts';
import { showPath } from './path-parts.ts';
import { holds, realPlace } from './real-place.ts';
import { isGitName } from './reserved-names.ts';

export interface DirectoryRules {
  /** Directories at or below which a task may be given a directory or clone one. */
  readonly roots: readonly string[];
  /** What no task may see: no workspace and no source of a clone lies in, at or above one of them. */
  readonly protectedDirs: readonly string[];
  /** Directories inside protected ones that may be cloned nevertheless; they alone, nothing below or above them. */
  readonly cloneSources: readonly string[];
}

/**
 * A directory of the host that a task may have, held open. Everything was checked on `handle`, so that a name which
 * leads elsewhere a moment later changes nothing.
 */
export interface AllowedDirectory {
  readonly handle: FileHandle;
  /** Real path at the moment of the check. */
  readonly path: string;
}

const MOST_BYTES = 4096;

export const refused = (message: string, hint?: string): FabricError =>
  new FabricError('workspace_refused', message, hint === undefined ? {} : { hint });

const missing = (path: string): FabricError =>
  new FabricError('workspace_missing', `there is no directory ${showPath(path)}`);

const checkShape = (path: string): void => {
  if (path.includes('\0') || !path.startsWith('/')) throw refused('a workspace is named by its absolute path');
  if (Buffer.byteLength(path) > MOST_BYTES) throw refused(`a path has at most ${MOST_BYTES} bytes`);
};

/** Links are followed: what counts is where the descriptor lies. Undefined where no directory can be opened. */
const openIfThere = async (path: string): Promise<FileHandle | undefined> => {
  try {
    if (hasDescriptorPaths) return await open(path, O_PATH | constants.O_DIRECTORY);
    return await openDirectory(await realpath(path));
  } catch {
    return undefined;
  }
};

const pathOfHandle = async (handle: FileHandle, path: string): Promise<string> => {
  if (!hasDescriptorPaths) return realpath(path);
  const real = await readlink(descriptorPath(handle));
  if ((await handle.stat()).nlink === 0 || !real.startsWith('/')) throw missing(path);
  return real;
};

const realPlaces = async (paths: readonly string[]): Promise<string[]> =>
  (await Promise.all(paths.map(realPlace))).filter((place) => place !== undefined);

/** The last part is not resolved: a link that stands in the place of such a directory opens nothing. */
const realSource = async (source: string): Promise<string> =>
  join((await realPlace(dirname(source))) ?? dirname(source), basename(source));

/** Whether a real path lies in, at or above a protected directory; inside one, `isExcepted` lets it pass. */
export const isProtected = async (
  place: string,
  { protectedDirs }: Pick<DirectoryRules, 'protectedDirs'>,
  isExcepted = false,
): Promise<boolean> => {
  const guarded = await realPlaces(protectedDirs);
  return guarded.some((dir) => holds(place, dir) || (holds(dir, place) && !isExcepted));
};

export const belongsToInstallation = (path: string): FabricError =>
  refused(`${showPath(path)} belongs to this installation, or holds what does`);

/** What a missing directory and one that exists outside of the roots are told is the same. */
const checkPlace = async (path: string, place: string | undefined, rules: DirectoryRules): Promise<void> => {
  const roots = await realPlaces(rules.roots);
  if (place === undefined || place === '/' || !roots.some((root) => holds(root, place))) {
    throw refused(`${showPath(path)} does not lie below a configured root`);
  }
  const sources = await Promise.all(rules.cloneSources.map(realSource));
  if (await isProtected(place, rules, sources.includes(place))) throw belongsToInstallation(path);
  if (place.split(sep).some(isGitName)) throw refused(`${showPath(path)} lies in a .git directory`);
};

const notOpened = async (path: string): Promise<FabricError> => {
  const stats = await lstat(path).catch(() => undefined);
  return stats === undefined ? missing(path) : refused(`${showPath(path)} is not a directory that can be opened`);
};

/** Opens a directory that a task asks for. Throws `workspace_missing` and `workspace_refused`. The caller closes it. */
export const openAllowed = async (path: string, rules: DirectoryRules): Promise<AllowedDirectory> => {
  checkShape(path);
  const handle = await openIfThere(path);
  try {
    const place = handle === undefined ? await realPlace(path) : await pathOfHandle(handle, path);
    await checkPlace(path, place, rules);
    if (handle === undefined || place === undefined) throw await notOpened(path);
    return { handle, path: place };
  } catch (thrown) {
    await handle?.close();
    throw thrown;
  }
};
