import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { canonicalJson, FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { VaultKeys } from './vault-keys.ts';

const TYPE = 'toolfabric/vault/1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** One sealed text of the vault. All that stands here in the open is who is renewing it. */
export const VaultRecord = z.strictObject({
  kid: z.string().max(40),
  nonce: z.string().max(16),
  /** Ciphertext and tag, base64url. */
  text: z.string().max(200_000),
  /** Somebody is fetching new tokens; random, so that a lease that still stands is known from a new one. */
  lease: z.string().max(40).optional(),
  /** The lease whose fetching failed last, and why. */
  failed: z.strictObject({ lease: z.string().max(40), why: z.enum(['unavailable', 'refused', 'login']) }).optional(),
});
export type VaultRecord = z.infer<typeof VaultRecord>;

type Sealed = Pick<VaultRecord, 'kid' | 'nonce' | 'text'>;

/** What a record is bound to: moved to another key of the store it does not open. */
const boundTo = (place: string, kid: string): Buffer => Buffer.from(canonicalJson({ type: TYPE, place, kid }));

/** Seals with the newest key and a nonce of its own. `place` is the key in the store: tenant, owner, handle, version. */
export const sealRecord = (keys: VaultKeys, place: string, text: string): Sealed => {
  const { kid, record } = keys.newest;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', record, nonce).setAAD(boundTo(place, kid));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { kid, nonce: nonce.toString('base64url'), text: sealed.toString('base64url') };
};

/** The text again. Throws `internal` for one of an unknown key, of another place, or that was changed; never says more. */
export const openRecord = (keys: VaultKeys, place: string, { kid, nonce, text }: Sealed): string => {
  try {
    const bytes = Buffer.from(text, 'base64url');
    const key = keys.byKid(kid)?.record ?? Buffer.alloc(0);
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES })
      .setAAD(boundTo(place, kid))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    throw new FabricError('internal', 'a record of the vault cannot be opened with the keys of this installation');
  }
};
