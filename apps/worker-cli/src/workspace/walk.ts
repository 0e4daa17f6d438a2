import type { Stats } from 'node:fs';
import { constants, type FileHandle, open, readlink } from 'node:fs/promises';
import { FabricError } from '@toolfabric/kernel';
import { mayAccess, notPermitted } from './access.ts';
import { Descent } from './descent.ts';
import { descriptorPath, O_PATH, type OpenRoot } from './open-root.ts';
import { outside, pathParts, showPath } from './path-parts.ts';
import { type Entry, kindOf, type Place } from './place.ts';

const MOST_LINKS = 20;
/** Parts that are looked at for one path, those out of links included. */
const MOST_STEPS = 512;

const notFound = (path: string): FabricError =>
  new FabricError('file_not_found', `there is no ${showPath(path)} in the workspace`);

const linkTarget = async (directory: FileHandle, name: string, path: string): Promise<string[]> => {
  const bytes = await readlink(`${descriptorPath(directory)}/${name}`, { encoding: 'buffer' });
  const target = new TextDecoder('utf-8', { fatal: true });
  let text: string;
  try {
    text = target.decode(bytes);
  } catch {
    throw notFound(path);
  }
  if (text.startsWith('/')) throw outside(path);
  return pathParts(text);
};

const peek = async (directory: FileHandle, name: string): Promise<FileHandle | undefined> => {
  try {
    return await open(`${descriptorPath(directory)}/${name}`, O_PATH | constants.O_NOFOLLOW);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'EACCES' || code === 'EPERM') throw notPermitted('enter a directory of this path', thrown);
    throw thrown;
  }
};

const entryOf = (handle: FileHandle, stats: Stats, root: OpenRoot): Entry => ({
  kind: kindOf(stats),
  stats,
  open: async () => {
    if (!mayAccess(stats, root.owner, 'read')) throw notPermitted('read it');
    const flags = stats.isDirectory() ? constants.O_DIRECTORY : constants.O_NONBLOCK;
    return open(descriptorPath(handle), constants.O_RDONLY | flags);
  },
});

const placeOf = (descent: Descent, rest: Omit<Place, 'close' | 'directory'>, directory: FileHandle): Place => ({
  ...rest,
  directory: descriptorPath(directory),
  close: () => descent.close(),
});

const directoryPlace = async (descent: Descent, root: OpenRoot): Promise<Place> => {
  const parts = descent.names;
  const entry = entryOf(descent.here, await descent.here.stat(), root);
  const name = parts.at(-1) ?? '.';
  return placeOf(descent, { parts, name, missing: [], entry }, parts.length === 0 ? descent.here : descent.above);
};

const absentPlace = (descent: Descent, left: readonly string[], path: string): Place => {
  if (left.includes('..')) throw notFound(path);
  const parts = [...descent.names, ...left];
  return placeOf(
    descent,
    { parts, name: left.at(-1) ?? '.', missing: left.slice(0, -1), entry: undefined },
    descent.here,
  );
};

const walk = async (descent: Descent, root: OpenRoot, path: string): Promise<Place> => {
  const left = pathParts(path);
  let links = 0;
  for (let step = 0; left.length > 0; step += 1) {
    if (step > MOST_STEPS) throw notFound(path);
    const part = left.shift() as string;
    if (part === '..') {
      if (!(await descent.leave())) throw outside(path);
      continue;
    }
    if (!mayAccess(await descent.here.stat(), root.owner, 'enter'))
      throw notPermitted('enter a directory of this path');
    const found = await peek(descent.here, part);
    if (found === undefined) return absentPlace(descent, [part, ...left], path);
    descent.hold(found);
    const stats = await found.stat();
    if (stats.isSymbolicLink()) {
      links += 1;
      if (links > MOST_LINKS) throw notFound(path);
      left.unshift(...(await linkTarget(descent.here, part, path)));
      await descent.drop(found);
    } else if (stats.isDirectory()) {
      descent.enter(part, found);
    } else {
      if (left.length > 0) throw notFound(path);
      const parts = [...descent.names, part];
      return placeOf(descent, { parts, name: part, missing: [], entry: entryOf(found, stats, root) }, descent.here);
    }
  }
  return directoryPlace(descent, root);
};

/**
 * Walks from the root through open descriptors, one part at a time; links are read and walked here, never by the
 * kernel. So a directory that is swapped for a link during the walk is either not followed, or was walked before: no
 * moment exists at which a name is checked and another one used. Throws `path_outside_workspace` for `..` above the
 * root and for absolute links, `file_not_found` for what leads nowhere.
 */
export const walkToPlace = async (root: OpenRoot, path: string): Promise<Place> => {
  const descent = new Descent(root);
  try {
    return await walk(descent, root, path);
  } catch (thrown) {
    await descent.close();
    throw thrown;
  }
};
