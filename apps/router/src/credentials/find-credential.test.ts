import type { CredentialRecord } from '@toolfabric/contract';
import { credentialKey } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { findCredential } from './find-credential.ts';

const ADA = { tenant: 'acme', user: 'ada', agent: 'coder' };
const BOB = { ...ADA, user: 'bob' };
const OTHER = { ...ADA, tenant: 'globex' };

const record = (more: Partial<CredentialRecord>): CredentialRecord => ({
  tenant: 'acme',
  handle: 'tenant:registry',
  account: 'acme build',
  audience: { hosts: ['registry.example.com'] },
  inject: { type: 'basic', user: 'build' },
  kind: 'static',
  state: 'active',
  version: 1,
  createdAt: 1,
  changedAt: 2,
  ...more,
});
const ADAS = record({ handle: 'user:tracker', user: 'ada', account: 'ada@tracker' });
const TENANTS = record({});

const finding = (...stored: readonly (readonly [string, CredentialRecord])[]) => {
  const byKey = new Map(stored);
  return findCredential({
    get: async (key) => {
      const value = byKey.get(key);
      return value && { value, revision: 1 };
    },
  });
};

describe('PO-11: the credential of a handle', () => {
  const find = finding([credentialKey(ADA, 'user:tracker'), ADAS], [credentialKey(ADA, 'tenant:registry'), TENANTS]);

  it('is that of the user, or of everybody in the tenant', async () => {
    expect(await find(ADA, 'user:tracker')).toEqual(ADAS);
    expect(await find(ADA, 'tenant:registry')).toEqual(TENANTS);
    expect(await find(BOB, 'tenant:registry')).toEqual(TENANTS);
  });

  it('is never that of another user or tenant', async () => {
    expect(await find(BOB, 'user:tracker')).toBeUndefined();
    expect(await find(OTHER, 'user:tracker')).toBeUndefined();
    expect(await find(OTHER, 'tenant:registry')).toBeUndefined();
  });

  it.each([
    ['another user', record({ handle: 'user:tracker', user: 'bob' })],
    ['another tenant', record({ handle: 'user:tracker', user: 'ada', tenant: 'globex' })],
    ['nobody in particular', record({ handle: 'user:tracker' })],
    ['another handle', record({ handle: 'user:mail', user: 'ada' })],
  ])('is none where the record of %s stands in its place', async (_whose, wrong) => {
    expect(await finding([credentialKey(ADA, 'user:tracker'), wrong])(ADA, 'user:tracker')).toBeUndefined();
  });
});
