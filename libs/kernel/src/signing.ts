import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import type { Envelope } from '@toolfabric/contract';

/** What a service may sign; a key is bound to its roles in the read-only key file. */
export type SigningRole = 'router' | 'worker' | 'gateway';

export interface Signer {
  readonly kid: string;
  sign(type: string, body: string): Envelope;
}

export interface Verifier {
  /** The body when `envelope` is of `type` and signed by a key that holds `role`; otherwise undefined. */
  open(envelope: Envelope, type: string, role: SigningRole): string | undefined;
}

export interface PublicKeyEntry {
  readonly kid: string;
  readonly roles: readonly SigningRole[];
  /** SubjectPublicKeyInfo, DER, base64. */
  readonly publicKey: string;
}

/** Type tag and body are signed together, so that a signature is void for any other type of message. */
const signedBytes = (type: string, body: string): Buffer => Buffer.from(`${type}\n${body}`, 'utf8');

/** A new Ed25519 pair: the private key as PKCS #8 PEM, the public one as it stands in a key file. */
export const generateSigningKey = (
  kid: string,
  roles: readonly SigningRole[],
): { privateKey: string; entry: PublicKeyEntry } => {
  const pair = generateKeyPairSync('ed25519');
  return {
    privateKey: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    entry: { kid, roles, publicKey: pair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64') },
  };
};

export const createSigner = (kid: string, privateKeyPem: string): Signer => {
  const key = createPrivateKey(privateKeyPem);
  return {
    kid,
    sign: (type, body) => ({ type, kid, body, sig: sign(null, signedBytes(type, body), key).toString('base64url') }),
  };
};

/** Throws for a key that is not Ed25519, and for two keys of one name: the second would take the place of the first. */
export const createVerifier = (entries: readonly PublicKeyEntry[]): Verifier => {
  const keys = new Map<string, { key: KeyObject; roles: ReadonlySet<SigningRole> }>();
  for (const entry of entries) {
    const key = createPublicKey({ key: Buffer.from(entry.publicKey, 'base64'), format: 'der', type: 'spki' });
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`the key ${entry.kid} is not Ed25519`);
    if (keys.has(entry.kid)) throw new Error(`the key ${entry.kid} stands twice in the key file`);
    keys.set(entry.kid, { key, roles: new Set(entry.roles) });
  }
  return {
    open(envelope, type, role) {
      const known = keys.get(envelope.kid);
      if (envelope.type !== type || !known?.roles.has(role)) return undefined;
      const ok = verify(null, signedBytes(type, envelope.body), known.key, Buffer.from(envelope.sig, 'base64url'));
      return ok ? envelope.body : undefined;
    },
  };
};
