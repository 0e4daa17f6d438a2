import { FabricError } from '@toolfabric/kernel';
import { createRemoteJWKSet, decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';
import type { OidcIssuer } from './issuer-config.ts';
import { type ClaimedIdentity, readClaims } from './read-claims.ts';

export interface VerifiedToken extends ClaimedIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Milliseconds since the epoch, the leeway of clocks included. */
  readonly expiresAt: number;
}

export interface IssuerTimes {
  /** Milliseconds for a request to an issuer. */
  readonly fetchMs: number;
  /** Milliseconds between two looks for keys that an unknown key id asks for. */
  readonly cooldownMs: number;
  /** Milliseconds after which known keys are fetched again. */
  readonly keysMs: number;
}

export const ISSUER_TIMES: IssuerTimes = { fetchMs: 5_000, cooldownMs: 30_000, keysMs: 600_000 };

const LEEWAY_SECONDS = 30;
const MOST_DISCOVERY_BYTES = 256 * 1024;
const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

const unavailable = (cause: unknown): FabricError =>
  new FabricError('unavailable', 'the issuer of this token does not answer with its keys', {
    retryAfterMs: 2_000,
    cause,
  });

const readDiscovery = async (issuer: string, fetchMs: number): Promise<string> => {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(fetchMs), redirect: 'error' });
  if (!response.ok) throw new Error(`the discovery document answered with ${response.status}`);
  const text = await response.text();
  if (text.length > MOST_DISCOVERY_BYTES) throw new Error('the discovery document is too large');
  const read = Discovery.parse(JSON.parse(text));
  // Without this one issuer could hand out the keys of another.
  if (read.issuer !== issuer) throw new Error('the discovery document is that of another issuer');
  if (new URL(issuer).protocol === 'https:' && new URL(read.jwks_uri).protocol !== 'https:')
    throw new Error('the keys would come in the clear');
  return read.jwks_uri;
};

/** One issuer with its keys, which are fetched when they are needed and again when they change. */
class Issuer {
  readonly settings: OidcIssuer;
  readonly #times: IssuerTimes;
  #keys: Promise<JWTVerifyGetKey> | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: OidcIssuer, times: IssuerTimes) {
    this.settings = settings;
    this.#times = times;
  }

  /** A discovery that failed is not tried again for each token that comes. */
  keys(): Promise<JWTVerifyGetKey> {
    if (this.#keys !== undefined) return this.#keys;
    const { cooldownMs, fetchMs } = this.#times;
    if (performance.now() - this.#failedAt < Math.min(cooldownMs, 2_000)) {
      return Promise.reject(new Error('the issuer did not answer a moment ago'));
    }
    const { jwksUrl, issuer } = this.settings;
    const found = (jwksUrl === undefined ? readDiscovery(issuer, fetchMs) : Promise.resolve(jwksUrl)).then((url) =>
      createRemoteJWKSet(new URL(url), {
        timeoutDuration: fetchMs,
        cooldownDuration: cooldownMs,
        cacheMaxAge: this.#times.keysMs,
      }),
    );
    this.#keys = found.catch((thrown: unknown) => {
      this.#keys = undefined;
      this.#failedAt = performance.now();
      throw thrown;
    });
    return this.#keys;
  }
}

const ISSUERS_FAULT = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);

/** What says that nothing is known of the token, as against that it is wrong. */
const isOutage = (thrown: unknown): boolean => {
  if (!(thrown instanceof errors.JOSEError)) return true;
  return ISSUERS_FAULT.has(thrown.code);
};

/** Tokens of other issuers than our own: signed, for us, not expired, of an issuer that the configuration names. */
export class Issuers {
  readonly #issuers: ReadonlyMap<string, Issuer>;
  readonly #now: () => number;

  constructor(settings: readonly OidcIssuer[], now: () => number, times: IssuerTimes = ISSUER_TIMES) {
    this.#issuers = new Map(settings.map((one) => [one.issuer, new Issuer(one, times)]));
    this.#now = now;
  }

  /** Undefined for a token that is not valid here; throws `unavailable` while its issuer's keys cannot be had. */
  async verify(token: string): Promise<VerifiedToken | undefined> {
    const issuer = this.#issuers.get(issuerIn(token) ?? '');
    if (issuer === undefined) return undefined;
    const keys = await issuer.keys().catch((thrown: unknown) => {
      throw unavailable(thrown);
    });
    const payload = await this.#check(token, issuer.settings, keys);
    const claimed = payload && readClaims(issuer.settings, payload);
    if (payload === undefined || claimed === undefined) return undefined;
    const { exp = 0, sub = '' } = payload;
    return { ...claimed, issuer: issuer.settings.issuer, subject: sub, expiresAt: (exp + LEEWAY_SECONDS) * 1_000 };
  }

  async #check(token: string, settings: OidcIssuer, keys: JWTVerifyGetKey): Promise<JWTPayload | undefined> {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: settings.issuer,
        audience: settings.audience,
        algorithms: settings.algorithms,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(this.#now()),
      });
      return payload;
    } catch (thrown) {
      if (isOutage(thrown)) throw unavailable(thrown);
      return undefined;
    }
  }
}

/** Not believed: it only says whose keys are to be asked for. */
const issuerIn = (token: string): string | undefined => {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
};
