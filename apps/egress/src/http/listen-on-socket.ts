import { chmodSync, chownSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';

export interface SocketConfig {
  /** Absolute. */
  readonly path: string;
  /** A group whose members may use it as well: a number of the system. */
  readonly group?: number;
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path, () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** Listens there, in a folder that nobody else may enter. Throws when another process answers on it. */
export const listenOnSocket = async (server: Server, { path, group }: SocketConfig): Promise<void> => {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, group === undefined ? 0o700 : 0o750);
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) {
    if (await answers(path)) throw new Error('another egress listens on this socket');
    rmSync(path);
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, group === undefined ? 0o600 : 0o660);
  if (group === undefined) return;
  for (const file of [folder, path]) chownSync(file, -1, group);
};
