import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createAuthority, type Pem } from './create-authority.ts';

export interface AuthorityFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Made when both are missing, the key for nobody else to read. */
  readonly create: boolean;
}

/** The authority in the files. Throws when it is none, has expired, or the key is not its own or not RSA. */
export const loadAuthority = async ({ certFile, keyFile, create }: AuthorityFiles, now: number): Promise<Pem> => {
  if (create && !existsSync(certFile) && !existsSync(keyFile)) await writeAuthority(certFile, keyFile, now);
  const pem = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  const certificate = new X509Certificate(pem.cert);
  if (!certificate.ca || Date.parse(certificate.validTo) < now)
    throw new Error('the authority of the egress is not good');
  const key = createPrivateKey(pem.key);
  // What makes the certificates of hosts reads no others.
  if (key.asymmetricKeyType !== 'rsa') throw new Error('the authority of the egress has no RSA key');
  if (!certificate.checkPrivateKey(key)) throw new Error('the key is not that of the authority');
  return pem;
};

const writeAuthority = async (certFile: string, keyFile: string, now: number): Promise<void> => {
  const { cert, key } = await createAuthority(now);
  for (const file of [certFile, keyFile]) mkdirSync(dirname(file), { recursive: true });
  writeFileSync(keyFile, key, { mode: 0o600, flag: 'wx' });
  writeFileSync(certFile, cert, { mode: 0o644, flag: 'wx' });
  chmodSync(keyFile, 0o600);
};
