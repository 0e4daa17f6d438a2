import {
  type CredentialAudience,
  type CredentialDraft,
  type CredentialInjection,
  CredentialKind,
  type CredentialRecord,
  CredentialState,
  type EgressReplyOf,
  type OAuthClient,
} from '@toolfabric/contract';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/credential_service.ts';

const states = enumCodec('credential state', wire.CredentialState, CredentialState.options);
const kinds = enumCodec('credential kind', wire.CredentialKind, CredentialKind.options);

const audienceToWire = ({ hosts, paths = [] }: CredentialAudience): wire.CredentialAudience => ({
  hosts: [...hosts],
  paths: [...paths],
});

const audienceFromWire = (audience: wire.CredentialAudience | undefined): CredentialAudience => {
  if (audience === undefined) throw new WireMismatch('no audience');
  const { hosts, paths } = audience;
  return { hosts, ...(paths.length === 0 ? {} : { paths }) };
};

const injectToWire = (inject: CredentialInjection): wire.Credential['inject'] =>
  inject.type === 'basic'
    ? { $case: 'basic', value: { user: inject.user } }
    : { $case: 'header', value: { header: inject.header, template: inject.template } };

const injectFromWire = (inject: wire.Credential['inject']): CredentialInjection => {
  if (inject === undefined) throw new WireMismatch('no way to show it that is known here');
  if (inject.$case === 'basic') return { type: 'basic', user: inject.value.user };
  return { type: 'header', header: inject.value.header, template: inject.value.template };
};

const oauthToWire = ({ issuer, clientId, scopes, resource, subject }: OAuthClient): wire.OAuthClient => ({
  issuer,
  clientId,
  scopes: [...scopes],
  resource,
  subject,
});

const oauthFromWire = ({ issuer, clientId, scopes, resource, subject }: wire.OAuthClient): OAuthClient => ({
  issuer,
  clientId,
  scopes,
  ...(resource === undefined ? {} : { resource }),
  ...(subject === undefined ? {} : { subject }),
});

/** What a draft and a record have together. */
type About = Omit<CredentialDraft, 'sealed'>;
type WireAbout = Omit<wire.AddCredentialRequest, 'sealed'>;

const aboutToWire = (about: About): WireAbout => ({
  handle: about.handle,
  account: about.account,
  audience: audienceToWire(about.audience),
  inject: injectToWire(about.inject),
  kind: kinds.toWire(about.kind) as wire.CredentialKind,
  oauth: about.oauth && oauthToWire(about.oauth),
  testAddress: about.testAddress,
  expiresAtMs: about.expiresAt,
});

const aboutFromWire = (about: WireAbout): About => ({
  handle: about.handle,
  account: about.account,
  audience: audienceFromWire(about.audience),
  inject: injectFromWire(about.inject),
  kind: kinds.fromWire(about.kind),
  ...(about.oauth === undefined ? {} : { oauth: oauthFromWire(about.oauth) }),
  ...(about.testAddress === undefined ? {} : { testAddress: about.testAddress }),
  ...(about.expiresAtMs === undefined ? {} : { expiresAt: about.expiresAtMs }),
});

export const credentialToWire = (credential: CredentialRecord): wire.Credential => ({
  ...aboutToWire(credential),
  tenant: credential.tenant,
  user: credential.user,
  state: states.toWire(credential.state) as wire.CredentialState,
  version: credential.version,
  createdAtMs: credential.createdAt,
  changedAtMs: credential.changedAt,
  lastUsedAtMs: credential.lastUsedAt,
});

/** Throws `WireMismatch` for a kind, a state or a way to show it that this side does not know. */
export const credentialFromWire = (credential: wire.Credential): CredentialRecord => ({
  ...aboutFromWire(credential),
  tenant: credential.tenant,
  ...(credential.user === undefined ? {} : { user: credential.user }),
  state: states.fromWire(credential.state),
  version: credential.version,
  createdAt: credential.createdAtMs,
  changedAt: credential.changedAtMs,
  ...(credential.lastUsedAtMs === undefined ? {} : { lastUsedAt: credential.lastUsedAtMs }),
});

export const credentialDraftToWire = ({ sealed, ...about }: CredentialDraft): wire.AddCredentialRequest => ({
  ...aboutToWire(about),
  sealed: sealed && { ...sealed },
});

/** Throws `WireMismatch` where it is not said, or said in a newer way, whom it may be shown to and how. */
export const credentialDraftFromWire = ({ sealed, ...about }: wire.AddCredentialRequest): CredentialDraft => ({
  ...aboutFromWire(about),
  ...(sealed === undefined ? {} : { sealed }),
});

/** Credentials of a kind that this side does not know are left out: the rest can be read all the same. */
export const credentialPageFromWire = (page: wire.ListCredentialsResponse): EgressReplyOf<'list'> => ({
  credentials: page.credentials
    .filter(({ kind, state, inject }) => kinds.known(kind) && states.known(state) && inject !== undefined)
    .map(credentialFromWire),
  ...(page.next === undefined ? {} : { next: page.next }),
});

export const credentialTestFromWire = (test: wire.TestCredentialResponse): EgressReplyOf<'test'> => {
  if (test.credential === undefined) throw new WireMismatch('a test without its credential');
  return {
    credential: credentialFromWire(test.credential),
    ...(test.status === undefined ? {} : { status: test.status }),
    ...(test.refusal === undefined ? {} : { refusal: test.refusal }),
  };
};
