import type { CredentialDraft } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { normalisePath } from '../target/normalise-path.ts';
import { fitsAudience } from './fits-audience.ts';

const wrong = (text: string) => new FabricError('invalid_request', text);

/** Headers that say where a message goes and where it ends. */
const NEVER = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|expect|proxy-.*)$/i;

const isNormal = (path: string): boolean => {
  try {
    return !path.includes('?') && normalisePath(path, true) === path;
  } catch {
    return false;
  }
};

const fitsTest = (address: string, { audience }: CredentialDraft): boolean => {
  const url = URL.parse(address);
  return url !== null && url.username === '' && fitsAudience(audience, url.hostname, url.pathname + url.search);
};

const isOwn = (handle: string): boolean => handle.startsWith('user:');

/** Everything of a draft that its schema does not say. Throws `invalid_request`. */
export const checkDraft = (draft: CredentialDraft, now: number): void => {
  const { kind, oauth, testAddress, expiresAt, inject, audience } = draft;
  if ((kind === 'static') !== (oauth === undefined)) throw wrong('every kind but static names an authorisation server');
  if (oauth?.subject !== undefined && kind !== 'oauth_token_exchange') throw wrong('only an exchange has a subject');
  if (oauth?.subject !== undefined && isOwn(oauth.subject) !== isOwn(draft.handle))
    throw wrong('one exchanges what is of the same owner: a user their own, a tenant its own');
  if (oauth?.subject === draft.handle) throw wrong('a credential does not exchange its own token');
  if (inject.type === 'header' && NEVER.test(inject.header)) throw wrong('no secret stands in this header');
  if (!(audience.paths ?? []).every(isNormal)) throw wrong('a path of the audience can be read in more than one way');
  if (testAddress !== undefined && !fitsTest(testAddress, draft))
    throw wrong('the test address is not of the audience');
  if (expiresAt !== undefined && expiresAt <= now) throw wrong('the credential would have expired already');
};
