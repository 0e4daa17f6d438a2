import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCertificate, createKey, serialNumber } from './create-authority.ts';

describe('the number of a certificate', () => {
  it.each([
    ['zeros', Buffer.alloc(16)],
    ['a zero before a small byte', Buffer.from(`0012${'00'.repeat(14)}`, 'hex')],
    ['a byte that would make it negative', Buffer.alloc(16, 0xff)],
  ])('from %s is positive and as short as it can be', (_, random) => {
    expect(serialNumber(random)).toMatch(/^[4-7][0-9a-f]{31}$/);
  });

  it('from two draws is not the same', () => {
    expect(serialNumber(Buffer.alloc(16, 1))).not.toBe(serialNumber(Buffer.alloc(16, 2)));
  });
});

describe('a certificate', () => {
  let key: { readonly privateKey: string; readonly publicKey: string };
  beforeAll(async () => {
    key = await createKey();
  });

  it('can be read, whatever its number is', () => {
    const [notBefore, notAfter] = [new Date(Date.now() - 60_000), new Date(Date.now() + 60_000)];
    for (let n = 0; n < 400; n += 1) {
      const text = createCertificate({ name: 'a.example.com', notBefore, notAfter }, key.publicKey, key.privateKey);
      expect(new X509Certificate(text).subject).toBe('CN=a.example.com');
    }
  });
});
