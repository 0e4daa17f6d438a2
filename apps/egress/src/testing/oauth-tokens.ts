import { randomBytes } from 'node:crypto';

/** What happened at the authorisation server, one entry each; nothing is ever taken away. */
export type OAuthTruth =
  | { readonly event: 'asked'; readonly grant: string; readonly client: string; readonly resource: string | undefined }
  | { readonly event: 'issued'; readonly grant: string; readonly accessToken: string; readonly refreshToken?: string }
  | { readonly event: 'exchanged'; readonly subject: string }
  /** A refresh token came a second time: everything that came of its login is void. */
  | { readonly event: 'reused'; readonly refreshToken: string };

interface Family {
  readonly scope: string;
  isRevoked: boolean;
  /** The refresh token that may be used next. */
  current: string;
}

export interface TokenOptions {
  readonly aud: string | undefined;
  readonly issuer: string;
  readonly lifeS: number;
  readonly opaque: boolean;
}

const random = (kind: string): string => `${kind}-${randomBytes(18).toString('base64url')}`;
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const jwtOf = ({ aud, issuer, lifeS }: TokenOptions): string => {
  const exp = Math.floor(Date.now() / 1000) + lifeS;
  const claims = { iss: issuer, exp, jti: random('id'), ...(aud === undefined ? {} : { aud }) };
  return `${encode({ alg: 'HS256', typ: 'at+jwt' })}.${encode(claims)}.${randomBytes(32).toString('base64url')}`;
};

/** The tokens of an authorisation server: families of refresh tokens, and access tokens that are good. */
export class OAuthTokens {
  readonly truth: OAuthTruth[] = [];
  readonly #families = new Map<string, Family>();
  readonly #good = new Map<string, Family | undefined>();

  /** Whether a resource would take it. */
  isGood(accessToken: string): boolean {
    return this.#good.has(accessToken) && this.#good.get(accessToken)?.isRevoked !== true;
  }

  begin(grant: string, scope: string, options: TokenOptions) {
    const refreshToken = random('refresh');
    const family = { scope, isRevoked: false, current: refreshToken };
    this.#families.set(refreshToken, family);
    return this.#issue(grant, family, options);
  }

  /** New tokens, or nothing when the refresh token is not good: used up, revoked or unknown. */
  refresh(refreshToken: string, rotates: boolean, options: TokenOptions) {
    const family = this.#families.get(refreshToken);
    if (family === undefined || family.isRevoked) return undefined;
    if (family.current !== refreshToken) {
      family.isRevoked = true;
      this.truth.push({ event: 'reused', refreshToken });
      return undefined;
    }
    if (!rotates) return { ...this.#issue('refresh_token', family, options), refresh_token: undefined };
    family.current = random('refresh');
    this.#families.set(family.current, family);
    return this.#issue('refresh_token', family, options);
  }

  alone(grant: string, options: TokenOptions) {
    return this.#issue(grant, undefined, options);
  }

  /** As the other side may do at any time. */
  revokeAll(): void {
    for (const family of this.#families.values()) family.isRevoked = true;
  }

  #issue(grant: string, family: Family | undefined, options: TokenOptions) {
    const accessToken = options.opaque ? random('access') : jwtOf(options);
    this.#good.set(accessToken, family);
    const refresh = family === undefined ? {} : { refreshToken: family.current };
    this.truth.push({ event: 'issued', grant, accessToken, ...refresh });
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: options.lifeS,
      ...(family === undefined ? {} : { refresh_token: family.current }),
    };
  }
}
