import { existsSync } from 'node:fs';
import { generateSigningKey } from '@toolfabric/kernel';
import { writePrivate } from './state-dir.ts';

export interface SigningFiles {
  readonly signingKey: string;
  readonly publicKeys: string;
}

export const SIGNING_KID = 'router-1';

/** The router's signing key and the list of public keys that everybody reads, made on the first start. */
export const ensureSigningKeys = ({ signingKey, publicKeys }: SigningFiles): void => {
  if (existsSync(signingKey) && existsSync(publicKeys)) return;
  const { privateKey, entry } = generateSigningKey(SIGNING_KID, ['router']);
  writePrivate(signingKey, privateKey);
  writePrivate(publicKeys, `${JSON.stringify([entry], null, 2)}\n`);
};
