import type { CredentialRecord, EgressReplyOf } from '@toolfabric/contract';

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

const ONLY_OUTSIDE: ReadonlySet<string> = new Set(['scheme_not_permitted', 'address_not_permitted']);
const OUTSIDE_HINT =
  'hint: A test address is asked over https at a public address; an operator names others in TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS.';

/** What came of a test, and what to do where the address is not one that is asked. */
export const describeTest = ({ credential, status, refusal }: EgressReplyOf<'test'>): string => {
  const came = status === undefined ? `nothing came back: ${refusal ?? 'no reason is known'}` : `status ${status}`;
  const hints = refusal !== undefined && ONLY_OUTSIDE.has(refusal) ? [OUTSIDE_HINT] : [];
  return [`${credential.testAddress ?? credential.handle}: ${came}`, ...hints].join('\n');
};
