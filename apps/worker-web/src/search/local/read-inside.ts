import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';

export interface FileInside {
  readonly bytes: Buffer;
  /** Milliseconds since the epoch. */
  readonly changed: number;
}

/** Where an open file really is: a folder on its way may have become a link after it was looked at. */
const placeOf = (file: number, path: string): string => {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return realpathSync(path);
  }
};

const readAll = (file: number, most: number): Buffer => {
  const bytes = Buffer.allocUnsafe(most);
  let size = 0;
  for (let read = -1; read !== 0 && size < most; size += read) read = readSync(file, bytes, size, most - size, null);
  return bytes.subarray(0, size);
};

/**
 * A plain file inside a folder. Undefined for one that is not there, is no plain file, is larger than `most` bytes, or is
 * reached through a symbolic link.
 *
 * @param root the real path of the folder.
 * @param path below it, with `/` between its parts.
 */
export const readInside = (root: string, path: string, most: number): FileInside | undefined => {
  const full = join(root, path);
  if (!full.startsWith(`${root}${sep}`)) return undefined;
  let file: number;
  try {
    file = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stats = fstatSync(file);
    const { size, mtimeMs } = stats;
    if (!stats.isFile() || size > most || placeOf(file, full) !== full) return undefined;
    return { bytes: readAll(file, size), changed: Math.floor(mtimeMs) };
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
};
