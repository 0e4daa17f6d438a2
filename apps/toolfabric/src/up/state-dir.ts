import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CLIENT_FILE } from '../cli/connect.ts';

/** Names inside the one folder that holds everything which outlives a run. */
export const stateFiles = (root: string) => ({
  root,
  lock: join(root, 'up.lock'),
  log: join(root, 'up.log'),
  client: join(root, CLIENT_FILE),
  keys: join(root, 'keys'),
  signingKey: join(root, 'keys', 'signing.pem'),
  publicKeys: join(root, 'keys', 'public-keys.json'),
  tokens: join(root, 'tokens.json'),
  workspaces: join(root, 'workspaces'),
  nats: {
    config: join(root, 'nats', 'server.conf'),
    log: join(root, 'nats', 'server.log'),
    pid: join(root, 'nats', 'server.pid'),
    version: join(root, 'nats', 'server_version'),
    store: join(root, 'nats', 'store'),
  },
});
export type StateFiles = ReturnType<typeof stateFiles>;

/** Makes a folder, and those above it, that only its owner can enter. */
export const makePrivateDir = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
};

/** Writes a file that only its owner can read; a reader sees the old text or the new, never a part. */
export const writePrivate = (file: string, text: string): void => {
  makePrivateDir(dirname(file));
  const aside = `${file}.new`;
  writeFileSync(aside, text, { mode: 0o600 });
  chmodSync(aside, 0o600);
  renameSync(aside, file);
};

/** The text of a file, made by `make` and stored when it is not there yet. */
export const readOrMake = (file: string, make: () => string): string => {
  if (!existsSync(file)) writePrivate(file, make());
  return readFileSync(file, 'utf8');
};
