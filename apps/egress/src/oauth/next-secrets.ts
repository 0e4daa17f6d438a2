import type { CredentialRecord } from '@toolfabric/contract';
import type { TokenEndpointResponse } from 'oauth4webapi';
import { Secrets } from '../vault/secrets.ts';
import { checkAudience } from './check-audience.ts';
import { NoToken } from './oauth-failure.ts';
import { lifeOf } from './token-life.ts';

/** An access token that may be shown, and until when; without a time it does not end. */
export interface AccessToken {
  readonly token: string;
  /** Milliseconds since the epoch, as the other. */
  readonly expiresAt?: number;
  /** From when on another one should be fetched. */
  readonly renewFrom?: number;
}

/** What the vault keeps after tokens came. With `refused` it keeps what is needed to ask again, and no access token. */
export interface Taken {
  readonly secrets: Secrets;
  readonly refused?: NoToken;
}

const check = (record: CredentialRecord, tokens: TokenEndpointResponse, until: number | undefined, now: number) => {
  if (tokens.token_type !== 'bearer') return new NoToken('refused', 'the authorisation server gave no bearer token');
  if (until !== undefined && until <= now)
    return new NoToken('refused', 'the authorisation server gave an expired token');
  try {
    checkAudience(record, tokens.access_token);
  } catch (thrown) {
    if (thrown instanceof NoToken) return thrown;
    throw thrown;
  }
  return undefined;
};

const withoutAccess = ({ accessToken: _a, accessUntil: _u, renewFrom: _r, ...kept }: Secrets): Secrets => kept;

/** A login whose next refresh token cannot be kept is over. */
const parse = (secrets: Secrets, isLogin: boolean): Secrets => {
  const parsed = Secrets.safeParse(secrets);
  if (!parsed.success)
    throw new NoToken(isLogin ? 'login' : 'refused', 'the authorisation server gave something that is no token');
  return parsed.data;
};

/** Tokens that came, as they are kept. Throws `NoToken` for what is no token at all. */
export const nextSecrets = (
  record: CredentialRecord,
  before: Secrets,
  tokens: TokenEndpointResponse,
  now: number,
): Taken => {
  const isLogin = record.kind === 'oauth_authorization_code';
  const refreshToken = isLogin ? (tokens.refresh_token ?? before.refreshToken) : undefined;
  const isKept = before.refreshToken !== undefined && refreshToken === before.refreshToken;
  const kept: Secrets = {
    ...withoutAccess(before),
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(isLogin ? { keepsRefreshToken: isKept } : {}),
  };
  const isRenewable = !isLogin || refreshToken !== undefined;
  const { renewFrom, until } = lifeOf(tokens.access_token, tokens.expires_in, isRenewable, now);
  const refused = check(record, tokens, until, now);
  if (refused !== undefined) return { secrets: parse(kept, isLogin), refused };
  const life = {
    ...(until === undefined ? {} : { accessUntil: until }),
    ...(renewFrom === undefined ? {} : { renewFrom }),
  };
  return { secrets: parse({ ...kept, accessToken: tokens.access_token, ...life }, isLogin) };
};

/** The access token that is held, when it still holds. */
export const heldToken = ({ accessToken, accessUntil, renewFrom }: Secrets, now: number): AccessToken | undefined => {
  if (accessToken === undefined || (accessUntil !== undefined && accessUntil <= now)) return undefined;
  return {
    token: accessToken,
    ...(accessUntil === undefined ? {} : { expiresAt: accessUntil }),
    ...(renewFrom === undefined ? {} : { renewFrom }),
  };
};

/** The same, when it need not be renewed yet. */
export const freshToken = (secrets: Secrets, now: number): AccessToken | undefined =>
  secrets.renewFrom !== undefined && secrets.renewFrom <= now ? undefined : heldToken(secrets, now);

/** Whether asking a second time, after an answer was lost, could end a login: the server may know the token as used. */
export const mayHaveRotated = ({ kind }: CredentialRecord, { keepsRefreshToken }: Secrets): boolean =>
  kind === 'oauth_authorization_code' && keepsRefreshToken !== true;
