import { constants } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomId } from '@toolfabric/kernel';

export const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
export const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A rename or a deletion is durable once its folder is. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Makes a folder whose entry is durable, and those above it; resolves at once when it is there. */
export const makeFolder = async (folder: string): Promise<void> => {
  const first = await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
};

/** Written aside, made durable, renamed: whoever reads sees the old text or the new one (B1). */
export const replaceFile = async (temporary: string, file: string, text: string): Promise<void> => {
  const aside = join(temporary, randomId());
  try {
    const handle = await open(aside, CREATE_NEW, PRIVATE_FILE);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(aside, file);
  } catch (thrown) {
    await rm(aside, { force: true }).catch(() => {});
    throw thrown;
  }
  await syncFolder(dirname(file));
};

export const removeFile = async (file: string): Promise<void> => {
  await rm(file, { force: true });
  await syncFolder(dirname(file)).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'ENOENT') throw thrown;
  });
};
