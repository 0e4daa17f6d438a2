import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mendStream, nameBlocks, plainName } from './mend-stream.ts';

/** Whether a nats-server of this version recovers what it acknowledged after a kill, without help. */
export const recoversAlone = (version: string): boolean => {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 10);
};

const foldersIn = async (folder: string): Promise<string[]> => {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
};

/**
 * Makes a store ready for a start of the server, so that what it acknowledged is there although it was killed. Servers
 * before 2.10.0 need that; for later ones it gives the blocks their usual names again.
 *
 * To be called before every start of the server with this `store_dir`, and never while one runs. `version` is the
 * server's (`2.9.10`), `now` in milliseconds. Can be interrupted and done again.
 */
export const prepareStore = async (storeDir: string, version: string, now = Date.now()): Promise<void> => {
  for (const account of await foldersIn(join(storeDir, 'jetstream'))) {
    for (const stream of await foldersIn(join(account, 'streams'))) {
      if (recoversAlone(version)) await nameBlocks(join(stream, 'msgs'), plainName);
      else await mendStream(stream, now);
    }
  }
};
