import type { CredentialDraft, SecretParts } from '@toolfabric/contract';
import { sealToKey } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { generateVaultKey, parseVaultKeys } from '../vault/vault-keys.ts';
import { checkDraft } from './check-draft.ts';
import { parseSecrets } from './parse-secrets.ts';

const [OLD, NEW, NOW] = [generateVaultKey(), generateVaultKey(), 1_000];
const keys = parseVaultKeys(OLD);
const CANARY = 'canary-of-a-draft';

const draftOf = (over: Partial<CredentialDraft>, parts?: object): CredentialDraft => {
  const { kind = 'static', handle = 'user:api' } = over;
  const oauth = { issuer: 'https://login.example.com', clientId: 'fabric', scopes: [] };
  return {
    handle,
    account: 'ann at the api',
    audience: { hosts: ['api.corp'], paths: ['/api'] },
    inject: { type: 'header', header: 'Authorization', template: 'Bearer {secret}' },
    kind,
    ...(kind === 'static' ? {} : { oauth }),
    ...(parts === undefined ? {} : { sealed: sealToKey(JSON.stringify(parts), keys.newest.public, handle) }),
    ...over,
  };
};
const take = (draft: CredentialDraft, by = keys): SecretParts => {
  checkDraft(draft, NOW);
  return parseSecrets(draft, by);
};
const thrownBy = (draft: CredentialDraft): { type?: string; message?: string } => {
  try {
    take(draft);
    return {};
  } catch (thrown) {
    return thrown as Error;
  }
};
const exchanging = (handle: string, subject: string): Partial<CredentialDraft> => ({
  handle,
  kind: 'oauth_token_exchange',
  oauth: { issuer: 'https://login.example.com', clientId: 'fabric', scopes: [], subject },
});

describe('PO-11: a new credential', () => {
  it('is taken with what its kind needs', () => {
    expect(take(draftOf({}, { secret: CANARY }))).toEqual({ secret: CANARY });
    expect(take(draftOf({ kind: 'oauth_authorization_code' }))).toEqual({});
    expect(take(draftOf({ kind: 'oauth_client_credentials' }, { clientSecret: CANARY }))).toEqual({
      clientSecret: CANARY,
    });
    expect(take(draftOf(exchanging('user:api', 'user:other')))).toEqual({});
    expect(take(draftOf({ testAddress: 'https://api.corp/api/me?x=1' }, { secret: CANARY }))).toEqual({
      secret: CANARY,
    });
  });

  it.each<[string, Partial<CredentialDraft>, object | undefined]>([
    ['a static one without a secret', {}, undefined],
    ['a static one with more than its secret', {}, { secret: CANARY, clientSecret: 'c' }],
    ['a secret with another name', {}, { token: CANARY }],
    ['no parts at all', {}, [CANARY]],
    ['a secret of two lines', {}, { secret: `${CANARY}\r\nx-other: b` }],
    ['a secret that no header holds', {}, { secret: `${CANARY}ü` }],
    ['a secret without end', {}, { secret: CANARY.repeat(1_000) }],
    ['a static one with an authorisation server', { oauth: exchanging('user:a', 'user:b').oauth }, { secret: CANARY }],
    ['an exchange without a token', { kind: 'oauth_token_exchange' }, undefined],
    ['an exchange with two', exchanging('user:api', 'user:other'), { subjectToken: CANARY }],
    ['an exchange of itself', exchanging('user:api', 'user:api'), undefined],
    ['a user’s exchange of what is the tenant’s', exchanging('user:api', 'tenant:other'), undefined],
    ['a tenant’s exchange of what is a user’s', exchanging('tenant:api', 'user:other'), undefined],
    ['a login with a secret', { kind: 'oauth_authorization_code' }, { secret: CANARY }],
    ['a header that steers', { inject: { type: 'header', header: 'Host', template: '{secret}' } }, { secret: CANARY }],
    ['a path with two readings', { audience: { hosts: ['api.corp'], paths: ['/api/../x'] } }, { secret: CANARY }],
    ['a test address of another host', { testAddress: 'https://evil.example.com/api' }, { secret: CANARY }],
    ['a test address beside its paths', { testAddress: 'https://api.corp/apix' }, { secret: CANARY }],
    ['a test address with a user', { testAddress: 'https://a@api.corp/api' }, { secret: CANARY }],
    ['one that has expired', { expiresAt: NOW }, { secret: CANARY }],
  ])('%s is not taken, and nothing secret is said of it', (_, over, parts) => {
    const { type, message } = thrownBy(draftOf(over, parts));
    expect(type).toBe('invalid_request');
    expect(message).not.toContain(CANARY);
  });

  it('nor a secret that was sealed for another handle, or to a key that is gone', () => {
    const other = sealToKey(JSON.stringify({ secret: CANARY }), keys.newest.public, 'user:other');
    expect(thrownBy(draftOf({ sealed: other })).type).toBe('invalid_request');
    const strange = sealToKey(JSON.stringify({ secret: CANARY }), parseVaultKeys(NEW).newest.public, 'user:api');
    expect(thrownBy(draftOf({ sealed: strange })).type).toBe('invalid_request');
    expect(thrownBy(draftOf({ sealed: { ...strange, kid: keys.newest.kid } })).type).toBe('invalid_request');
  });

  it('sealed to a key that is no more the newest is taken while the vault has it', () => {
    const draft = draftOf({}, { secret: CANARY });
    expect(take(draft, parseVaultKeys(`${NEW}\n${OLD}`))).toEqual({ secret: CANARY });
  });
});
