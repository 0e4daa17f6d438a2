import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  CredentialAudience,
  CredentialInjection,
  CredentialRecord,
  EGRESS_RPC,
  mayKeep,
  SealedSecret,
} from './credential.ts';
import { credential, EGRESS_RPC_SAMPLES, sealedSecret } from './credential-samples.ts';

const overWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const CASES = Object.entries(EGRESS_RPC).flatMap(([verb, { request, reply }]): [string, z.ZodType, unknown][] => [
  [`${verb} request`, request, EGRESS_RPC_SAMPLES[verb]?.request],
  [`${verb} reply`, reply, EGRESS_RPC_SAMPLES[verb]?.reply],
]);

describe('the verbs of the keeper of credentials', () => {
  it.each(CASES)('%s survives the wire, and refuses what it does not know', (_, schema, value) => {
    expect(schema.parse(overWire(value))).toEqual(overWire(value));
    expect(schema.safeParse({ ...(value as object), surprise: 1 }).success).toBe(false);
  });
});

describe('PO-11: what a credential can say', () => {
  it('nothing secret: neither what is sealed nor what was opened has a place in its record', () => {
    for (const more of [
      { sealed: sealedSecret },
      { secret: 's' },
      { oauth: { ...credential.oauth, clientSecret: 's' } },
    ])
      expect(CredentialRecord.safeParse({ ...credential, ...more }).success).toBe(false);
  });

  it.each([
    ['no host', { hosts: [] }],
    ['every host', { hosts: ['*'] }],
    ['an address with a path', { hosts: ['tracker.example.com/api'] }],
    ['a relative path', { hosts: ['tracker.example.com'], paths: ['api'] }],
  ])('an audience of %s is none', (_, audience) => {
    expect(CredentialAudience.safeParse(audience).success).toBe(false);
  });

  it.each([
    ['without the secret', { type: 'header', header: 'authorization', template: 'Bearer' }],
    ['with a second line', { type: 'header', header: 'authorization', template: 'Bearer {secret}\r\nx: y' }],
    ['in a name of two words', { type: 'header', header: 'x y', template: '{secret}' }],
    ['of a user with a colon', { type: 'basic', user: 'a:b' }],
  ])('it is not shown %s', (_, inject) => {
    expect(CredentialInjection.safeParse(inject).success).toBe(false);
  });

  it('a secret that is longer than the bound does not come in', () => {
    expect(SealedSecret.safeParse({ ...sealedSecret, ciphertext: 'C'.repeat(64_001) }).success).toBe(false);
  });
});

describe('PO-11: who keeps a credential', () => {
  it('one’s own everybody, those of the tenant who has the right', () => {
    expect(mayKeep([], 'user:tracker')).toBe(true);
    for (const handle of ['tenant:registry', 'shared:x']) {
      expect(mayKeep(['approvals:decide', 'credentials'], handle)).toBe(false);
      expect(mayKeep(['credentials:manage'], handle)).toBe(true);
    }
  });
});
