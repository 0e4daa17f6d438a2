import { existsSync, readFileSync } from 'node:fs';
import { issueToken, type NewToken, TokenEntry } from '@toolfabric/gateway/start';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import { writePrivate } from './state-dir.ts';

const Entries = z.array(TokenEntry);

export const readTokens = (file: string): TokenEntry[] =>
  existsSync(file) ? Entries.parse(JSON.parse(readFileSync(file, 'utf8'))) : [];

const writeTokens = (file: string, entries: readonly TokenEntry[]): void =>
  writePrivate(file, `${JSON.stringify(entries, null, 2)}\n`);

/** Adds a token and gives its text, which is stored nowhere. A running gateway takes it up within a second. Throws `conflict`. */
export const addToken = (file: string, wanted: NewToken): string => {
  const entries = readTokens(file);
  if (entries.some(({ id }) => id === wanted.id)) {
    throw new FabricError('conflict', `there is a token ${wanted.id} already: revoke it first, or choose another id`);
  }
  const { token, entry } = issueToken(wanted);
  writeTokens(file, [...entries, entry]);
  return token;
};

/** Throws `not_found`. */
export const revokeToken = (file: string, id: string): void => {
  const entries = readTokens(file);
  const left = entries.filter((entry) => entry.id !== id);
  if (left.length === entries.length) throw new FabricError('not_found', `there is no token ${id}`);
  writeTokens(file, left);
};
