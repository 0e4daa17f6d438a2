import { describe, expect, it } from 'vitest';
import { generateVaultKey, parseVaultKeys } from './vault-keys.ts';
import { openRecord, sealRecord } from './vault-record.ts';

const [OLD, NEW] = [generateVaultKey(), generateVaultKey()];
const keys = parseVaultKeys(OLD);
const PLACE = 'credential.acme.tenant.one.v1';
const TEXT = JSON.stringify({ secret: 'canary-of-the-vault' });
const sealed = sealRecord(keys, PLACE, TEXT);
const UNOPENED = /^a record of the vault cannot be opened with the keys of this installation$/;

/** The same bytes with one bit changed. */
const bent = (text: string, at: number): string => {
  const bytes = Buffer.from(text, 'base64url');
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes.toString('base64url');
};

describe('PO-11: a record of the vault', () => {
  it('opens at its place, and shows nothing before', () => {
    expect(openRecord(keys, PLACE, sealed)).toBe(TEXT);
    expect(JSON.stringify(sealed)).not.toContain('canary');
    expect(Buffer.from(sealed.text, 'base64url').toString('latin1')).not.toContain('canary');
  });

  it('is another text each time, with a nonce of its own', () => {
    const all = Array.from({ length: 200 }, () => sealRecord(keys, PLACE, TEXT));
    expect(new Set(all.map(({ nonce }) => nonce)).size).toBe(200);
    expect(new Set(all.map(({ text }) => text)).size).toBe(200);
  });

  it.each([
    ['another version', 'credential.acme.tenant.one.v2'],
    ['another handle', 'credential.acme.tenant.two.v1'],
    ['another tenant', 'credential.other.tenant.one.v1'],
  ])('moved to the place of %s, does not open', (_, place) => {
    expect(() => openRecord(keys, place, sealed)).toThrow(UNOPENED);
  });

  it.each([
    ['its text', { ...sealed, text: bent(sealed.text, 0) }],
    ['its tag', { ...sealed, text: bent(sealed.text, -1) }],
    ['its nonce', { ...sealed, nonce: bent(sealed.nonce, 0) }],
    ['the name of its key', { ...sealed, kid: 'v-0000000000000000' }],
    ['its end', { ...sealed, text: sealed.text.slice(0, -4) }],
    ['everything', { ...sealed, text: '' }],
  ])('with %s changed, does not open', (_, changed) => {
    expect(() => openRecord(keys, PLACE, changed)).toThrow(UNOPENED);
  });

  it('sealed with an older key, opens while the file has it; the newest seals', () => {
    const both = parseVaultKeys(`${NEW}\n${OLD}`);
    expect(openRecord(both, PLACE, sealed)).toBe(TEXT);
    const again = sealRecord(both, PLACE, TEXT);
    expect(again.kid).toBe(both.newest.kid);
    expect(() => openRecord(keys, PLACE, again)).toThrow(UNOPENED);
    expect(() => openRecord(parseVaultKeys(NEW), PLACE, sealed)).toThrow(UNOPENED);
  });
});
