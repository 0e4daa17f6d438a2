import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

export type ObjectFormat = 'sha1' | 'sha256';

/** A longer configuration is read so far. */
const MOST_BYTES = 65_536;
const NO_LINK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The beginning of a file that is no link; empty for anything else. */
const headOf = (path: string): string => {
  let descriptor: number;
  try {
    descriptor = openSync(path, NO_LINK);
  } catch {
    return '';
  }
  try {
    if (!fstatSync(descriptor).isFile()) return '';
    const bytes = Buffer.alloc(MOST_BYTES);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes));
  } finally {
    closeSync(descriptor);
  }
};

/**
 * How the objects of a repository are named, as its own configuration says: the one setting of it that git cannot do
 * without. Where it says something untrue, git finds no object.
 */
export const objectFormat = (repository: string): ObjectFormat =>
  /^\s*objectformat\s*=\s*"?sha256"?\s*$/im.test(headOf(`${repository}/config`)) ? 'sha256' : 'sha1';
