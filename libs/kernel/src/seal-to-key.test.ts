import { generateKeyPairSync } from 'node:crypto';
import { SealedSecret } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { openSealed, sealToKey, vaultKeyOf } from './seal-to-key.ts';

const { privateKey } = generateKeyPairSync('x25519');
const key = vaultKeyOf('v1', privateKey);
const SECRET = 'canary-gëheim';
const sealed = () => sealToKey(SECRET, key, 'user:tracker');

const flipped = (text: string): string => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;

describe('PO-11: a secret that is sealed to a key', () => {
  it('is read again by its holder, for its purpose, and looks different each time', () => {
    const [one, other] = [sealed(), sealed()];
    expect(SealedSecret.parse(one)).toEqual(one);
    expect(openSealed(one, privateKey, 'user:tracker')).toBe(SECRET);
    expect(
      new Set([one.ephemeral, other.ephemeral, one.nonce, other.nonce, one.ciphertext, other.ciphertext]).size,
    ).toBe(6);
    expect(JSON.stringify(one)).not.toContain('canary');
    expect(Buffer.from(one.ciphertext, 'base64url').toString('latin1')).not.toContain('canary');
  });

  it.each([
    ['another purpose', () => openSealed(sealed(), privateKey, 'user:mail')],
    ['another holder', () => openSealed(sealed(), generateKeyPairSync('x25519').privateKey, 'user:tracker')],
    ['another name of the key', () => openSealed({ ...sealed(), kid: 'v2' }, privateKey, 'user:tracker')],
    ...(['ephemeral', 'nonce', 'ciphertext'] as const).map((part): [string, () => string] => [
      `a changed ${part}`,
      () => {
        const one = sealed();
        return openSealed({ ...one, [part]: flipped(one[part]) }, privateKey, 'user:tracker');
      },
    ]),
    [
      'a ciphertext shorter than its tag',
      () => openSealed({ ...sealed(), ciphertext: 'AA' }, privateKey, 'user:tracker'),
    ],
    ['a key of order one', () => openSealed({ ...sealed(), ephemeral: 'A'.repeat(43) }, privateKey, 'user:tracker')],
  ])('does not open for %s, and nothing of it is said', (_, open) => {
    expect(open).toThrow(/^the secret is not sealed to the key of this vault and for this handle$/);
  });

  it.each(['A'.repeat(43), 'short'])('is not sealed to what is no key: %s', (publicKey) => {
    expect(() => sealToKey(SECRET, { kid: 'v1', publicKey }, 'user:tracker')).toThrow('no X25519 key');
  });
});
