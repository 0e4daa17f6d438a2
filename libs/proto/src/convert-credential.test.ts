import { CredentialDraft, CredentialKind, CredentialRecord, CredentialState } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import {
  credentialDraftFromWire,
  credentialDraftToWire,
  credentialFromWire,
  credentialPageFromWire,
  credentialTestFromWire,
  credentialToWire,
} from './convert-credential.ts';
import { WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/credential_service.ts';

const least: CredentialRecord = {
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
};
const whole: CredentialRecord = {
  ...least,
  handle: 'user:tracker',
  user: 'ada',
  audience: { hosts: ['tracker.example.com', '*.tracker.example.com'], paths: ['/api/v1'] },
  inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
  kind: 'oauth_authorization_code',
  oauth: {
    issuer: 'https://login.example.com',
    clientId: 'toolfabric',
    scopes: ['issues:write'],
    resource: 'https://tracker.example.com/api',
    subject: 'user:login',
  },
  testAddress: 'https://tracker.example.com/api/v1/me',
  expiresAt: 1_900_000_000_000,
  lastUsedAt: 3,
};
const aboutOf = ({ handle, account, audience, inject, kind }: CredentialRecord) => ({
  ...{ handle, account, audience, inject, kind },
});
const SEALED = { kid: 'v1', ephemeral: 'A'.repeat(43), nonce: 'B'.repeat(16), ciphertext: 'C'.repeat(40) };

const sent = <T>(codec: { encode(value: T): { finish(): Uint8Array }; decode(bytes: Uint8Array): T }, value: T): T =>
  codec.decode(codec.encode(value).finish());
const recordOverTheWire = (record: CredentialRecord) =>
  credentialFromWire(sent(wire.Credential, credentialToWire(record)));

describe('PO-11: credentials on the wire', () => {
  const records: readonly { readonly name: string; readonly record: CredentialRecord }[] = [
    { name: 'whole', record: whole },
    { name: 'without what may be left out', record: least },
    {
      name: 'with a client that has no scopes',
      record: { ...whole, oauth: { issuer: 'https://l.example', clientId: 'c', scopes: [] } },
    },
    ...CredentialKind.options.map((kind) => ({ name: kind, record: { ...whole, kind } })),
    ...CredentialState.options.map((state) => ({ name: state, record: { ...whole, state } })),
  ];
  it.each(records)('come back as they went, $name', ({ record }) => {
    expect(recordOverTheWire(record)).toStrictEqual(record);
    expect(() => CredentialRecord.parse(recordOverTheWire(record))).not.toThrow();
  });

  it.each([
    ['with a secret', { ...aboutOf(whole), sealed: SEALED }],
    ['without one', aboutOf(least)],
  ])('are given %s', (_name, draft) => {
    const back = credentialDraftFromWire(sent(wire.AddCredentialRequest, credentialDraftToWire(draft)));
    expect(back).toStrictEqual(draft);
    expect(() => CredentialDraft.parse(back)).not.toThrow();
  });

  it('of a newer peer are left out of a page, and alone they are not guessed', () => {
    const newer = { ...credentialToWire(whole), kind: 77 as wire.CredentialKind };
    const older = credentialToWire(least);
    expect(credentialPageFromWire({ credentials: [newer, older], next: 'user:tracker' })).toEqual({
      credentials: [least],
      next: 'user:tracker',
    });
    const { inject: _, ...without } = older;
    for (const wrong of [newer, { ...older, state: 77 as wire.CredentialState }, { ...without, inject: undefined }])
      expect(() => credentialFromWire(wrong)).toThrow(WireMismatch);
    expect(() => credentialFromWire({ ...older, audience: undefined })).toThrow(WireMismatch);
  });

  it('a test says what came, or why nothing did', () => {
    const credential = credentialToWire(least);
    const back = (test: wire.TestCredentialResponse) => credentialTestFromWire(sent(wire.TestCredentialResponse, test));
    expect(back({ credential, status: 204 })).toStrictEqual({ credential: least, status: 204 });
    expect(back({ credential, refusal: 'connect_failed' })).toStrictEqual({
      credential: least,
      refusal: 'connect_failed',
    });
    expect(() => credentialTestFromWire({ credential: undefined })).toThrow(WireMismatch);
  });
});
