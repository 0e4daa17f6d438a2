import type { CredentialRecord } from '@toolfabric/contract';

const when = (at: number | undefined): string => (at === undefined ? 'never' : new Date(at).toISOString());

/** How it is shown, without the secret: `authorization: Bearer {secret}`. */
const shown = ({ inject }: CredentialRecord): string =>
  inject.type === 'basic' ? `basic authentication as ${inject.user}` : `${inject.header}: ${inject.template}`;

/** Where it stands now: one that has run out is not active, whatever its record says. */
export const stateOf = ({ state, expiresAt }: CredentialRecord, now: number): string =>
  state === 'active' && expiresAt !== undefined && expiresAt <= now ? 'expired' : state;

export const credentialLine = (credential: CredentialRecord, now: number): string => {
  const { handle, account, version, audience, lastUsedAt } = credential;
  const state = stateOf(credential, now).padEnd(11);
  return `${handle.padEnd(24)}  ${state}  v${version}  ${account}  ${audience.hosts.join(', ')}  last used ${when(lastUsedAt)}`;
};

export const describeCredential = (credential: CredentialRecord, now: number): string => {
  const { handle, account, audience, kind, oauth, testAddress, version, createdAt, expiresAt, lastUsedAt } = credential;
  return [
    `${handle}  ${stateOf(credential, now)}  version ${version}`,
    `acts as    ${account}`,
    `shown to   ${audience.hosts.join(', ')}${audience.paths === undefined ? '' : ` below ${audience.paths.join(', ')}`}`,
    `shown as   ${shown(credential)}`,
    `kind       ${kind}${oauth === undefined ? '' : `, client ${oauth.clientId} of ${oauth.issuer}`}`,
    ...(oauth === undefined || oauth.scopes.length === 0 ? [] : [`scopes     ${oauth.scopes.join(' ')}`]),
    ...(testAddress === undefined ? [] : [`test       ${testAddress}`]),
    `since      ${when(createdAt)}`,
    ...(expiresAt === undefined ? [] : [`until      ${when(expiresAt)}`]),
    `last used  ${when(lastUsedAt)}`,
  ].join('\n');
};
