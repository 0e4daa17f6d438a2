import { randomBytes } from 'node:crypto';
import { readOrMake } from './state-dir.ts';

/** What seals the credentials of this machine: who has this file and the store of the bus reads all of them. */
export const ensureVaultKey = (file: string): void => {
  readOrMake(file, () => `${randomBytes(32).toString('hex')}\n`);
};
