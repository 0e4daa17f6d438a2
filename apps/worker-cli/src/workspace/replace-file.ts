import { constants, type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { User } from '../process/run-process.ts';
import type { Place } from './place.ts';

export interface Replacement {
  /** Parent directories exist; `entry` says whether a file is replaced or made. */
  readonly place: Place;
  /** Name of the temporary file, beside the target. */
  readonly temporary: string;
  readonly content: Uint8Array;
  readonly owner: User | undefined;
  /** Permission bits. */
  readonly mode: number;
  /** Last look before the target changes; throws when it must not. */
  readonly beforeRename: () => Promise<void>;
  /** The target has changed; not yet safe against a loss of power. */
  readonly afterRename: () => void;
}

/** The target changed, and what it holds now is not certain. */
export class ReplacementUncertain extends Error {
  override readonly name = 'ReplacementUncertain';
}

const CREATE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

const fill = async (handle: FileHandle, { content, owner, mode }: Replacement): Promise<void> => {
  await handle.writeFile(content);
  if (owner) await handle.chown(owner.uid, owner.gid);
  await handle.chmod(mode);
  await handle.sync();
};

const syncDirectory = async (directory: string): Promise<void> => {
  await using handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync();
};

/** A new file is linked into place, which fails where one has appeared meanwhile; an old one is replaced by renaming. */
const putInPlace = async (aside: string, target: string, isNew: boolean): Promise<void> => {
  if (!isNew) return rename(aside, target);
  await link(aside, target);
};

/**
 * Replaces or makes one file so that at every moment the target is whole (RE-6): written aside in the same directory,
 * forced to the disk, renamed, directory forced to the disk. Everything goes through the directory that was walked
 * into (P1). A failure before the rename leaves the target untouched and no temporary file. Throws
 * `ReplacementUncertain` for a failure after it.
 */
export const replaceFile = async (replacement: Replacement): Promise<void> => {
  const { place, temporary } = replacement;
  const aside = join(place.directory, temporary);
  const target = join(place.directory, place.name);
  const isNew = place.entry === undefined;
  try {
    await using handle = await open(aside, CREATE, 0o600);
    await fill(handle, replacement);
    await replacement.beforeRename();
    const written = await handle.stat();
    await putInPlace(aside, target, isNew);
    replacement.afterRename();
    await confirm(written.ino, target, place.directory);
  } finally {
    await rm(aside, { force: true });
  }
};

const confirm = async (inode: number, target: string, directory: string): Promise<void> => {
  try {
    await syncDirectory(directory);
    if ((await lstat(target)).ino === inode) return;
  } catch (thrown) {
    throw new ReplacementUncertain('the file was replaced, but could not be looked at again', { cause: thrown });
  }
  throw new ReplacementUncertain('the file was replaced, and something else stands there now');
};
