import type { CredentialHandle, CredentialRecord } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import type { OAuth } from '../oauth/create-oauth.ts';
import { NoToken } from '../oauth/oauth-failure.ts';
import type { Secrets } from '../vault/secrets.ts';
import type { Vault } from '../vault/vault.ts';
import { fitsHosts } from './fits-audience.ts';
import type { KeptCredentials, Owner } from './kept-credentials.ts';
import { secretsPlace } from './places.ts';

export interface SecretPorts {
  readonly kept: KeptCredentials;
  readonly vault: Vault<Secrets>;
  readonly oauth: Pick<OAuth, 'tokenFor'>;
  readonly clock: Clock;
}

/** Throws `NoToken` for a credential that may not be used now. */
export const checkUsable = ({ state, expiresAt }: CredentialRecord, now: number): void => {
  if (state === 'revoked') throw new NoToken('refused', 'the credential was revoked');
  if (state === 'needs_login') throw new NoToken('login', 'the credential needs a new login of its owner');
  if (expiresAt !== undefined && expiresAt <= now) throw new NoToken('refused', 'the credential has expired');
};

/** What is shown for a usable credential now: the secret that was given, or a token. Throws `NoToken`. */
export const secretOf = async (ports: SecretPorts, record: CredentialRecord, signal: AbortSignal): Promise<string> => {
  checkUsable(record, ports.clock.now());
  const place = secretsPlace(record);
  if (record.kind === 'static') {
    const secret = (await ports.vault.read(place))?.secrets.secret;
    if (secret === undefined) throw new NoToken('refused', 'the vault holds nothing for this credential');
    return secret;
  }
  try {
    return (await ports.oauth.tokenFor({ record, place }, signal)).token;
  } catch (thrown) {
    if (thrown instanceof NoToken && thrown.why === 'login') await ports.kept.needLogin(record);
    throw thrown;
  }
};

const SUBJECT_MS = 15_000;

/** An exchange is no way around an audience: the subject is shown to who gave it, or to a host that it is meant for. */
const checkShown = (subject: CredentialRecord, { oauth }: CredentialRecord): void => {
  const issuer = oauth?.issuer ?? '';
  if (subject.oauth?.issuer === issuer || fitsHosts(subject.audience, URL.parse(issuer)?.hostname ?? '')) return;
  throw new NoToken('refused', 'the credential that is exchanged is not meant for this authorisation server');
};

/**
 * The secret of the credential that an exchange names, of the same owner and meant for the server that exchanges it. One
 * that exchanges itself is refused. Throws `NoToken`.
 */
export const subjectOf = async (ports: SecretPorts, exchange: CredentialRecord, handle: CredentialHandle) => {
  const { tenant, user } = exchange;
  // Whose own it is says who may have it shown to a server of their choice.
  if (handle.startsWith('user:') !== (user !== undefined))
    throw new NoToken('refused', 'the credential that is exchanged has another owner');
  const owner: Owner = { tenant, user: user ?? '' };
  const record = await ports.kept.find(owner, handle);
  if (record === undefined) throw new NoToken('refused', 'the credential whose token is exchanged does not exist');
  if (record.kind === 'oauth_token_exchange') throw new NoToken('refused', 'an exchanged token is not exchanged again');
  checkShown(record, exchange);
  return secretOf(ports, record, AbortSignal.timeout(SUBJECT_MS));
};
