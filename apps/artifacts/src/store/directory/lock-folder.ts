import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { PRIVATE_FILE } from './durable-files.ts';

/** A tenant never begins with a dot. */
const LOCK_FILE = '.lock';
const WAIT_SECONDS = '3';
const TAKEN = 75;
const OPEN_OR_CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * The kernel's lock on the folder (B3), held by the descriptor that is given back: the kernel frees it however this
 * process ends. `flock` sets it on our own descriptor and ends. Throws `conflict` when another process holds it.
 */
export const lockFolder = async (directory: string): Promise<FileHandle> => {
  const file = await open(join(directory, LOCK_FILE), OPEN_OR_CREATE, PRIVATE_FILE);
  try {
    const code = await flock(file);
    if (code === 0) return file;
    throw code === TAKEN
      ? new FabricError('conflict', 'another process holds the folder of the artifacts')
      : new FabricError('internal', `the folder of the artifacts cannot be locked: flock ended with ${code}`);
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
};

const flock = async (file: FileHandle): Promise<number | null> => {
  const child = spawn('flock', ['-x', '-w', WAIT_SECONDS, '-E', String(TAKEN), '3'], {
    stdio: ['ignore', 'ignore', 'ignore', file.fd],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin' },
  });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code;
  } catch (thrown) {
    throw new FabricError('internal', 'the program flock is missing: it keeps two processes off one folder', {
      cause: thrown,
    });
  }
};
