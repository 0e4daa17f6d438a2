import type { z } from 'zod';
import type * as contract from './credential.ts';
import { actor, approver, at } from './sample-values.ts';

const key = 'A'.repeat(43);
export const sealedSecret = { kid: 'v1', ephemeral: key, nonce: 'B'.repeat(16), ciphertext: 'C'.repeat(60) };
export const oauthClient = {
  issuer: 'https://login.example.com',
  clientId: 'toolfabric',
  scopes: ['issues:write', 'offline_access'],
  resource: 'https://tracker.example.com/api',
};
const about = {
  handle: 'user:tracker',
  account: 'ada@tracker.example.com',
  audience: { hosts: ['tracker.example.com', '*.tracker.example.com'], paths: ['/api/v1'] },
  inject: { type: 'header' as const, header: 'authorization', template: 'Bearer {secret}' },
  kind: 'oauth_authorization_code' as const,
  oauth: oauthClient,
  testAddress: 'https://tracker.example.com/api/v1/me',
  expiresAt: at + 90 * 86_400_000,
};
export const credentialDraft = { ...about, sealed: sealedSecret };
export const credential = {
  ...about,
  tenant: actor.tenant,
  user: actor.user,
  state: 'active' as const,
  version: 3,
  createdAt: at,
  changedAt: at + 10,
  lastUsedAt: at + 20,
};
const { user: _user, oauth: _oauth, ...shared } = credential;
const OF_TENANT = { ...shared, handle: 'tenant:registry', kind: 'static' as const };
const by = approver;
const { handle } = about;

type Named = {
  [K in keyof typeof contract]: (typeof contract)[K] extends z.ZodType ? K : never;
}[keyof typeof contract];
type Sample = { [K in Named]: readonly [K, string, z.input<Extract<(typeof contract)[K], z.ZodType>>] }[Named];

/** Of schemas by name, as in `WIRE_SAMPLES`. */
export const CREDENTIAL_SAMPLES: readonly Sample[] = [
  ['CredentialKind', 'plain', 'static'],
  ['CredentialState', 'plain', 'needs_login'],
  ['CredentialAudience', 'full', about.audience],
  ['CredentialInjection', 'header', about.inject],
  ['CredentialInjection', 'basic', { type: 'basic', user: 'ada' }],
  ['OAuthClient', 'full', oauthClient],
  ['OAuthClient', 'exchange', { ...oauthClient, subject: 'user:login' }],
  ['CredentialRecord', 'full', credential],
  ['CredentialRecord', 'of-tenant', OF_TENANT],
  ['VaultKey', 'plain', { kid: 'v1', publicKey: key }],
  ['SealedSecret', 'plain', sealedSecret],
  ['SecretParts', 'full', { secret: 's', clientSecret: 'c', subjectToken: 't' }],
  ['CredentialDraft', 'full', credentialDraft],
];

export const EGRESS_RPC_SAMPLES: Readonly<Record<string, { readonly request: unknown; readonly reply: unknown }>> = {
  key: { request: {}, reply: { kid: 'v1', publicKey: key } },
  add: { request: { by, draft: credentialDraft }, reply: credential },
  list: { request: { by, after: handle, limit: 20 }, reply: { credentials: [credential], next: handle } },
  revoke: { request: { by, handle }, reply: { ...credential, state: 'revoked' } },
  test: { request: { by, handle }, reply: { credential, status: 200, refusal: 'host_broke' } },
  beginLogin: {
    request: { by, handle, redirectUri: 'http://127.0.0.1:49152/callback' },
    reply: { address: 'https://login.example.com/authorize?state=x', state: 'x'.repeat(22), expiresAt: at + 600_000 },
  },
  completeLogin: {
    request: { by, handle, state: 'x'.repeat(22), address: 'http://127.0.0.1:49152/callback?code=c&state=x' },
    reply: credential,
  },
};
