import { describe, expect, it } from 'vitest';
import { credentialGroup, credentialKey } from './credential-key.ts';

const ann = { tenant: 'acme', user: 'ann@example.com' };
const bob = { tenant: 'acme', user: 'bob' };
const KEY = /^[a-z0-9_-]{1,128}(\.[a-z0-9_-]{1,128}){0,11}$/;

describe('PO-11: where a credential stands', () => {
  it('is one key of plain tokens below its group, whatever the names are', () => {
    for (const handle of ['user:a..b', 'user:x.', 'tenant:registry', 'shared:x-y_z.1']) {
      expect(credentialKey(ann, handle)).toMatch(KEY);
    }
    expect(credentialKey(ann, 'user:a').startsWith(`${credentialGroup(ann, 'user')}.`)).toBe(true);
    expect(credentialKey(ann, 'shared:a').startsWith(`${credentialGroup(ann, 'tenant')}.`)).toBe(true);
  });

  it('is another one for each tenant, user and handle', () => {
    const globex = { ...ann, tenant: 'globex' };
    const keys = [ann, bob, globex].flatMap((owner) => ['user:a', 'user:b'].map((name) => credentialKey(owner, name)));
    expect(new Set(keys).size).toBe(6);
    expect(credentialKey(ann, 'tenant:a')).not.toBe(credentialKey(globex, 'tenant:a'));
    expect(credentialKey(ann, 'tenant:a')).not.toBe(credentialKey(ann, 'shared:a'));
  });

  it('is the same for all users of a tenant where it is of the tenant', () => {
    expect(credentialKey(ann, 'tenant:a')).toBe(credentialKey(bob, 'tenant:a'));
  });
});
