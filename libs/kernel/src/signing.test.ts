import { generateKeyPairSync } from 'node:crypto';
import { Envelope } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSigner, createVerifier, generateSigningKey } from './signing.ts';

const TYPE = 'toolfabric/work/1';
const router = generateSigningKey('router-1', ['router']);
const worker = generateSigningKey('worker-1', ['worker']);
const signer = createSigner('router-1', router.privateKey);
const verifier = createVerifier([router.entry, worker.entry]);

describe('an envelope', () => {
  it('opens for its type and role, and can be sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (body) => {
        const envelope: unknown = JSON.parse(JSON.stringify(signer.sign(TYPE, body)));
        expect(verifier.open(Envelope.parse(envelope), TYPE, 'router')).toBe(body);
      }),
    );
  });

  it('RT-9: is void for another type of message, even with the same bytes', () => {
    const envelope = signer.sign(TYPE, 'body');
    expect(verifier.open(envelope, 'toolfabric/result/1', 'router')).toBeUndefined();
    expect(
      verifier.open({ ...envelope, type: 'toolfabric/result/1' }, 'toolfabric/result/1', 'router'),
    ).toBeUndefined();
    expect(verifier.open({ ...envelope, type: `${TYPE}\nbo`, body: 'dy' }, TYPE, 'router')).toBeUndefined();
  });

  it('RT-9: is void for another role', () => {
    const envelope = signer.sign(TYPE, 'body');
    expect(verifier.open(envelope, TYPE, 'worker')).toBeUndefined();
    expect(verifier.open(envelope, TYPE, 'gateway')).toBeUndefined();
    const byWorker = createSigner('worker-1', worker.privateKey).sign(TYPE, 'body');
    expect(verifier.open(byWorker, TYPE, 'router')).toBeUndefined();
    expect(verifier.open(byWorker, TYPE, 'worker')).toBe('body');
  });

  it('RT-9: is void under the name of another key, or of one that nobody knows', () => {
    const envelope = signer.sign(TYPE, 'body');
    for (const kid of ['worker-1', 'router-2', '', '__proto__', 'constructor']) {
      expect(verifier.open({ ...envelope, kid }, TYPE, 'router')).toBeUndefined();
      expect(verifier.open({ ...envelope, kid }, TYPE, 'worker')).toBeUndefined();
    }
    const forged = createSigner('router-1', generateSigningKey('router-1', ['router']).privateKey).sign(TYPE, 'body');
    expect(verifier.open(forged, TYPE, 'router')).toBeUndefined();
  });

  it('RT-9: is void once any character of its body was changed', () => {
    const body = JSON.stringify({ callId: 'c-1', args: { path: 'a' }, epoch: 1 });
    const envelope = signer.sign(TYPE, body);
    const change = fc.tuple(fc.nat(body.length - 1), fc.string({ minLength: 0, maxLength: 2 }));
    fc.assert(
      fc.property(change, ([at, text]) => {
        const changed = body.slice(0, at) + text + body.slice(at + 1);
        fc.pre(changed !== body);
        expect(verifier.open({ ...envelope, body: changed }, TYPE, 'router')).toBeUndefined();
      }),
    );
    expect(verifier.open({ ...envelope, body: `${body} ` }, TYPE, 'router')).toBeUndefined();
  });

  it('RT-9: is void with any other signature, of whatever shape', () => {
    const envelope = signer.sign(TYPE, 'body');
    const bytes = Buffer.from(envelope.sig, 'base64url');
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(verifier.open({ ...envelope, sig: flipped.toString('base64url') }, TYPE, 'router')).toBeUndefined();
      }),
      { numRuns: 200 },
    );
    for (const sig of ['', 'AA', '💥', 'a'.repeat(100_000), signer.sign(TYPE, 'other').sig]) {
      expect(verifier.open({ ...envelope, sig }, TYPE, 'router')).toBeUndefined();
    }
  });
});

describe('key files', () => {
  it('two keys of one name are refused, since the roles of one could be used with the other', () => {
    const second = generateSigningKey('router-1', ['worker']);
    expect(() => createVerifier([router.entry, second.entry])).toThrow('stands twice');
  });

  it('keys that are not Ed25519 are refused', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const entry = {
      kid: 'x',
      roles: ['router'] as const,
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    };
    expect(() => createVerifier([entry])).toThrow('not Ed25519');
    expect(() => createVerifier([{ ...entry, publicKey: 'AAAA' }])).toThrow();
  });

  it('a key without roles opens nothing', () => {
    const idle = generateSigningKey('idle', []);
    const envelope = createSigner('idle', idle.privateKey).sign(TYPE, 'body');
    for (const role of ['router', 'worker', 'gateway'] as const) {
      expect(createVerifier([idle.entry]).open(envelope, TYPE, role)).toBeUndefined();
    }
  });
});
