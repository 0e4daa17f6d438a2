import type { CredentialRecord } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { credentialLine, describeCredential, describeTest } from './describe-credential.ts';

const NOW = Date.parse('2026-12-01T12:00:00Z');
const CREDENTIAL: CredentialRecord = {
  tenant: 'acme',
  user: 'ada',
  handle: 'user:tracker',
  account: 'ada@example.com',
  audience: { hosts: ['tracker.example.com', 'b.example.com'], paths: ['/api'] },
  inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
  kind: 'oauth_authorization_code',
  oauth: { issuer: 'https://login.example.com', clientId: 'toolfabric', scopes: ['read', 'write'] },
  testAddress: 'https://tracker.example.com/api/me',
  state: 'active',
  version: 3,
  createdAt: NOW - 1_000,
  changedAt: NOW,
  expiresAt: NOW + 1,
};

describe('a credential as a person reads it', () => {
  it('is one line of a list', () => {
    const line = credentialLine(CREDENTIAL, NOW);
    expect(line).toBe(
      'user:tracker              active       v3  ada@example.com  tracker.example.com, b.example.com  last used never',
    );
    const used = { ...CREDENTIAL, lastUsedAt: NOW, state: 'needs_login' as const };
    expect(credentialLine(used, NOW)).toContain('needs_login  v3');
    expect(credentialLine(used, NOW)).toContain('last used 2026-12-01T12:00:00.000Z');
  });

  it('has run out once its time has come, whatever its record says; what was revoked stays so', () => {
    expect(credentialLine(CREDENTIAL, NOW + 1)).toContain('expired');
    expect(credentialLine({ ...CREDENTIAL, state: 'revoked' }, NOW + 1)).toContain('revoked');
  });

  it('tells all of it that is no secret', () => {
    const text = describeCredential(CREDENTIAL, NOW);
    for (const said of [
      'user:tracker  active  version 3',
      'tracker.example.com, b.example.com below /api',
      'authorization: Bearer {secret}',
      'oauth_authorization_code, client toolfabric of https://login.example.com',
      'read write',
      'https://tracker.example.com/api/me',
      '2026-12-01T12:00:00.001Z',
    ])
      expect(text).toContain(said);
    const { oauth: _o, testAddress: _t, expiresAt: _e, ...least } = CREDENTIAL;
    const basic = describeCredential({ ...least, kind: 'static', inject: { type: 'basic', user: 'ada' } }, NOW);
    expect(basic).toContain('basic authentication as ada');
    expect(basic).not.toMatch(/scopes|test|until/);
  });

  it('tells what came of a test, and what to do about an address that is not asked', () => {
    const tested = (answer: object) => describeTest({ credential: CREDENTIAL, ...answer });
    expect(tested({ status: 401 })).toBe('https://tracker.example.com/api/me: status 401');
    expect(tested({ refusal: 'resolve_failed' })).toBe(
      'https://tracker.example.com/api/me: nothing came back: resolve_failed',
    );
    expect(tested({ refusal: 'scheme_not_permitted' })).toContain('TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS');
  });
});
