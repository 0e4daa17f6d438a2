import { randomBytes } from 'node:crypto';
import { readOrMake } from './state-dir.ts';

/** What secrets are marked with when they are taken out of results; without it nobody can tell what a mark stands for. */
export const ensureRedactionKey = (file: string): void => {
  readOrMake(file, () => `${randomBytes(32).toString('base64')}\n`);
};
