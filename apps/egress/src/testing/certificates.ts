import { createHash, createPublicKey } from 'node:crypto';
import {
  type CertificateOptions,
  createAuthority,
  createCertificate,
  createKey,
  type Pem,
} from '../tls/create-authority.ts';

const DAY_MS = 86_400_000;

export interface HostCertificate extends Pem {
  /** SHA-256 of its SubjectPublicKeyInfo. */
  readonly pin: string;
}

export const testAuthority = (): Promise<Pem> => createAuthority(Date.now());

/** A certificate of the authority for `hosts`, good today unless told otherwise. */
export const certificateFor = async (
  hosts: readonly string[],
  issuer: Pem | undefined,
  over: Partial<CertificateOptions> = {},
): Promise<HostCertificate> => {
  const { privateKey, publicKey } = await createKey();
  const times = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const options = { name: hosts[0] ?? 'test', hosts, ...times, ...(issuer === undefined ? {} : { issuer }), ...over };
  const spki = createPublicKey(publicKey).export({ format: 'der', type: 'spki' });
  return {
    cert: createCertificate(options, publicKey, privateKey),
    key: privateKey,
    pin: createHash('sha256').update(spki).digest('hex'),
  };
};
