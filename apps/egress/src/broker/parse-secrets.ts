import { type CredentialDraft, SecretParts } from '@toolfabric/contract';
import { FabricError, openSealed } from '@toolfabric/kernel';
import type { VaultKeys } from '../vault/vault-keys.ts';

const wrong = (text: string) => new FabricError('invalid_request', text);

type Parts = readonly (keyof SecretParts)[];
/** What each kind must be given, and what it may be given beside. */
const NEEDS: Readonly<Record<CredentialDraft['kind'], { readonly must: Parts; readonly may: Parts }>> = {
  static: { must: ['secret'], may: [] },
  oauth_authorization_code: { must: [], may: ['clientSecret'] },
  oauth_client_credentials: { must: ['clientSecret'], may: [] },
  oauth_token_exchange: { must: ['subjectToken'], may: ['clientSecret'] },
};

const needsOf = ({ kind, oauth }: CredentialDraft) =>
  kind === 'oauth_token_exchange' && oauth?.subject !== undefined
    ? { must: [], may: ['clientSecret'] as const }
    : NEEDS[kind];

/** It will stand in a header. */
const HEADER_TEXT = /^[ -~]+$/;

const openParts = ({ sealed, handle }: CredentialDraft, keys: VaultKeys): SecretParts => {
  if (sealed === undefined) return {};
  const key = keys.byKid(sealed.kid);
  if (key === undefined) throw wrong('the secret is sealed to a key that this vault does not have any more');
  const text = openSealed(sealed, key.private, handle);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const parsed = SecretParts.safeParse(value);
  // The reason of a schema could quote what it read.
  if (!parsed.success) throw wrong('what stands sealed are not the secrets of a credential');
  return parsed.data;
};

/** The secrets of a draft, opened. Throws `invalid_request`, without a word of them, for what its kind does not need. */
export const parseSecrets = (draft: CredentialDraft, keys: VaultKeys): SecretParts => {
  const parts = openParts(draft, keys);
  const { must, may } = needsOf(draft);
  const given = Object.keys(parts) as Parts;
  const fits = must.every((name) => given.includes(name)) && given.every((name) => [...must, ...may].includes(name));
  if (!fits) throw wrong(`a credential of the kind ${draft.kind} is given: ${must.join(', ') || 'no secret'}`);
  if (!Object.values(parts).every((text) => text === undefined || HEADER_TEXT.test(text)))
    throw wrong('a secret is one line of printable ASCII');
  return parts;
};
