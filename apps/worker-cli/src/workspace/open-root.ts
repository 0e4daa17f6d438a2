import { constants, type FileHandle, open } from 'node:fs/promises';
import type { User } from '../process/run-process.ts';

/** Linux only: opens a thing without opening its content, whatever it is. Node has no name for it. */
export const O_PATH = 0o10000000;

export const hasDescriptorPaths = process.platform === 'linux';

/** The root directory of a workspace, held open. */
export interface OpenRoot {
  readonly handle: FileHandle;
  /** Real path. */
  readonly path: string;
  /** Nothing is done for the task that this user may not do. */
  readonly owner: User;
}

/** A path to what the descriptor holds, wherever that has been moved. */
export const descriptorPath = (handle: FileHandle): string => `/proc/self/fd/${handle.fd}`;

export const openDirectory = (path: string): Promise<FileHandle> =>
  open(path, (hasDescriptorPaths ? O_PATH : constants.O_RDONLY) | constants.O_DIRECTORY | constants.O_NOFOLLOW);

/** Device and inode: tells whether it still is the same directory. */
export const identityOf = async (handle: FileHandle): Promise<string> => {
  const { dev, ino } = await handle.stat({ bigint: true });
  return `${dev}:${ino}`;
};

/** Of what stands there now; a link in its last part is not followed. */
export const identityAt = async (path: string): Promise<string> => {
  await using handle = await openDirectory(path);
  return await identityOf(handle);
};

/** Whether the directory that stands there now is the one of that identity. */
export const isStill = async (path: string, identity: string): Promise<boolean> =>
  (await identityAt(path).catch(() => undefined)) === identity;
