import { createPrivateKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { VaultKey } from '@toolfabric/contract';
import { sha256Hex, vaultKeyOf } from '@toolfabric/kernel';

const KEY_BYTES = 32;
const MOST_KEYS = 16;
/** PKCS #8 of an X25519 key, before its 32 bytes. */
const X25519_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** One key of the vault: all that is derived from one line of the key file. */
export interface VaultKeyPair {
  readonly kid: string;
  /** AES-256: seals the records of the vault. */
  readonly record: Buffer;
  /** X25519: opens what clients sealed. */
  readonly private: KeyObject;
  readonly public: VaultKey;
}

export interface VaultKeys {
  /** Seals whatever is written. */
  readonly newest: VaultKeyPair;
  byKid(kid: string): VaultKeyPair | undefined;
  /** How many there are. */
  readonly size: number;
}

const derive = (key: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `toolfabric/vault/${info}/1`, KEY_BYTES));

const pairOf = (key: Buffer): VaultKeyPair => {
  const kid = `v-${sha256Hex(derive(key, 'name')).slice(0, 16)}`;
  const secret = createPrivateKey({
    key: Buffer.concat([X25519_HEAD, derive(key, 'seal')]),
    format: 'der',
    type: 'pkcs8',
  });
  return { kid, record: derive(key, 'record'), private: secret, public: vaultKeyOf(kid, secret) };
};

/** A new line for a key file. */
export const generateVaultKey = (): string => randomBytes(KEY_BYTES).toString('hex');

/**
 * Reads a key file: 64 hexadecimal digits a line, the newest key first; older ones still open what they sealed. Lines
 * that begin with `#` are passed over. Throws, without saying what stands there, for anything else.
 */
export const parseVaultKeys = (text: string): VaultKeys => {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0 || lines.length > MOST_KEYS) throw new Error(`a vault has 1 to ${MOST_KEYS} keys`);
  if (!lines.every((line) => /^[0-9a-f]{64}$/i.test(line))) throw new Error('a key of the vault is not 64 hex digits');
  const pairs = lines.map((line) => pairOf(Buffer.from(line, 'hex')));
  const byKid = new Map(pairs.map((pair) => [pair.kid, pair]));
  const [newest] = pairs;
  if (newest === undefined || byKid.size !== pairs.length)
    throw new Error('a key of the vault stands twice in its file');
  return { newest, byKid: (kid) => byKid.get(kid), size: pairs.length };
};
