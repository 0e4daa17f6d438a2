import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
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
  redactionKey: join(root, 'keys', 'redaction.key'),
  vaultKey: join(root, 'keys', 'vault.key'),
  tokens: join(root, 'tokens.json'),
  workspaces: join(root, 'workspaces'),
  artifacts: join(root, 'artifacts'),
  traces: join(root, 'traces'),
  documents: join(root, 'documents'),
  egress: {
    folder: join(root, 'egress'),
    socket: join(root, 'egress', 'socket'),
    log: join(root, 'egress', 'egress.log'),
    caFile: join(root, 'keys', 'egress-ca.pem'),
    caKeyFile: join(root, 'keys', 'egress-ca.key'),
  },
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

const OPEN_TO_OTHERS = 0o077;

/**
 * Makes the state folder, or closes the one that exists to everybody but its owner. Throws `conflict` for one that
 * belongs to somebody else, and for an open one that is used for other things: to close that could lock others out.
 */
export const claimStateDir = ({ root, keys }: Pick<StateFiles, 'root' | 'keys'>): void => {
  makePrivateDir(root);
  const { uid, mode } = statSync(root);
  const hint = 'Give a folder of its own with --state.';
  if (process.getuid !== undefined && uid !== process.getuid()) {
    throw new FabricError('conflict', `the state folder ${root} belongs to another user`, { hint });
  }
  if ((mode & OPEN_TO_OTHERS) === 0) return;
  if (!existsSync(keys) && readdirSync(root).length > 0) {
    throw new FabricError('conflict', `the folder ${root} is open to others and holds other things`, { hint });
  }
  chmodSync(root, 0o700);
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
