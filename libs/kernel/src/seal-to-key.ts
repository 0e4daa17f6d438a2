import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type { SealedSecret, VaultKey } from '@toolfabric/contract';
import { FabricError } from './errors.ts';

const INFO = 'toolfabric/seal/1';
const TAG_BYTES = 16;
const NONCE_BYTES = 12;

const publicOf = (raw: string): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: raw }, format: 'jwk' });

const rawOf = (key: KeyObject): string => createPublicKey(key).export({ format: 'jwk' }).x ?? '';

const keyFor = (mine: KeyObject, other: KeyObject, salt: string): Buffer =>
  Buffer.from(hkdfSync('sha256', diffieHellman({ privateKey: mine, publicKey: other }), salt, INFO, 32));

const boundTo = (kid: string, purpose: string): Buffer => Buffer.from(`${INFO}\n${kid}\n${purpose}`);

/** The public half of an X25519 key, as clients are given it. */
export const vaultKeyOf = (kid: string, privateKey: KeyObject): VaultKey => ({ kid, publicKey: rawOf(privateKey) });

/**
 * Seals a text to a public key: only its holder reads it, and only for the same purpose. Throws `invalid_request` for a
 * key that is none.
 */
export const sealToKey = (text: string, key: VaultKey, purpose: string): SealedSecret => {
  const own = generateKeyPairSync('x25519');
  const ephemeral = rawOf(own.privateKey);
  let shared: Buffer;
  try {
    shared = keyFor(own.privateKey, publicOf(key.publicKey), `${ephemeral}.${key.publicKey}`);
  } catch (thrown) {
    throw new FabricError('invalid_request', 'the key of the vault is no X25519 key', { cause: thrown });
  }
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', shared, nonce).setAAD(boundTo(key.kid, purpose));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return {
    kid: key.kid,
    ephemeral,
    nonce: nonce.toString('base64url'),
    ciphertext: sealed.toString('base64url'),
  };
};

/** The text again. Throws `invalid_request` when it was changed, or sealed for another key or purpose; never says more. */
export const openSealed = (sealed: SealedSecret, privateKey: KeyObject, purpose: string): string => {
  try {
    const shared = keyFor(privateKey, publicOf(sealed.ephemeral), `${sealed.ephemeral}.${rawOf(privateKey)}`);
    const bytes = Buffer.from(sealed.ciphertext, 'base64url');
    const nonce = Buffer.from(sealed.nonce, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', shared, nonce, { authTagLength: TAG_BYTES })
      .setAAD(boundTo(sealed.kid, purpose))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    throw new FabricError('invalid_request', 'the secret is not sealed to the key of this vault and for this handle');
  }
};
