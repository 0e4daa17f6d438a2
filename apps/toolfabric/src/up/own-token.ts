import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { sha256Hex } from '@toolfabric/kernel';
import { ClientFile } from '../cli/connect.ts';
import type { StateFiles } from './state-dir.ts';
import { addToken, readTokens, revokeToken } from './tokens-file.ts';

const ID = 'up';
/** The tenant of whoever uses the fabric of their own machine. */
export const OWN_TENANT = 'local';
/** Of this installation's own person; it may look after the catalogue, and it approves nothing. */
const RIGHTS = ['registry:publish'];

const knownToken = (file: string): string | undefined => {
  if (!existsSync(file)) return undefined;
  try {
    return ClientFile.parse(JSON.parse(readFileSync(file, 'utf8'))).token;
  } catch {
    return undefined;
  }
};

/** A user id without an entry in the user database has no name. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
};

/** The token that `up` prints: the one of the last run while it is still valid, else a new one. */
export const ensureOwnToken = ({ client, tokens }: Pick<StateFiles, 'client' | 'tokens'>): string => {
  const known = knownToken(client);
  const entry = readTokens(tokens).find(({ id }) => id === ID);
  if (known !== undefined && entry?.sha256 === sha256Hex(known)) return known;
  if (entry) revokeToken(tokens, ID);
  return addToken(tokens, {
    id: ID,
    tenant: OWN_TENANT,
    user: userName(),
    agent: 'toolfabric-cli',
    rights: RIGHTS,
  });
};
