import { constants, lstat, open, realpath } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import type { OpenRoot } from './open-root.ts';
import { outside, pathParts, showPath } from './path-parts.ts';
import { type Entry, kindOf, type Place } from './place.ts';

const errorCode = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException).code;

/** The real path of the longest existing beginning of `path`, and what does not exist after it. */
const realBeginning = async (path: string): Promise<{ real: string; missing: string[] }> => {
  try {
    return { real: await realpath(path), missing: [] };
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT' && errorCode(thrown) !== 'ENOTDIR') throw thrown;
    const { real, missing } = await realBeginning(dirname(path));
    return { real, missing: [...missing, path.slice(dirname(path).length).replaceAll(sep, '')] };
  }
};

const entryAt = async (path: string): Promise<Entry> => {
  const stats = await lstat(path);
  const open_ = () => open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  return { kind: kindOf(stats), stats, open: open_ };
};

const done = async (): Promise<void> => {};

/**
 * Where the system has no paths through descriptors: the real path is looked at, and then used by name. A link that is
 * swapped in between is followed, so this holds only against paths, not against a program that runs meanwhile.
 */
export const checkByRealPath = async (root: OpenRoot, path: string): Promise<Place> => {
  const parts = pathParts(path);
  const { real, missing } = await realBeginning(join(root.path, ...parts));
  const below = relative(root.path, real);
  if (below === '..' || below.startsWith(`..${sep}`)) throw outside(path);
  if (missing.length > 0 && parts.includes('..')) {
    throw new FabricError('file_not_found', `there is no ${showPath(path)} in the workspace`);
  }
  const found = below === '' ? [] : below.split(sep);
  const all = [...found, ...missing];
  if (missing.length > 0) {
    const name = missing.at(-1) ?? '.';
    return { parts: all, directory: real, name, missing: missing.slice(0, -1), entry: undefined, close: done };
  }
  const entry = await entryAt(real);
  const directory = found.length === 0 ? real : dirname(real);
  return { parts: all, directory, name: found.at(-1) ?? '.', missing: [], entry, close: done };
};
