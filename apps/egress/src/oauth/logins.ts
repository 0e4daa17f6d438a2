import { timingSafeEqual } from 'node:crypto';
import type { CredentialRecord } from '@toolfabric/contract';
import { type Clock, FabricError } from '@toolfabric/kernel';
import {
  AuthorizationResponseError,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from 'oauth4webapi';
import type { PendingLogin, Secrets } from '../vault/secrets.ts';
import type { Vault } from '../vault/vault.ts';
import { type Asking, askingOf, LostAnswer, oauthOf, readTokens, targetOf } from './ask-tokens.ts';
import type { Issuer, Issuers } from './discover.ts';
import { nextSecrets } from './next-secrets.ts';
import { codeOf, NoToken } from './oauth-failure.ts';
import type { OAuthPace } from './oauth-pace.ts';
import type { Kept } from './renewals.ts';

/** A login that began: where the browser of the owner has to go. */
export interface BegunLogin {
  readonly address: string;
  readonly state: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface LoginSettings {
  /** Addresses beside loopback ones that a browser may come back to, each as it is written. */
  readonly redirectUris: readonly string[];
}

export interface LoginPorts {
  readonly vault: Vault<PendingLogin>;
  readonly issuers: Issuers;
  readonly clock: Clock;
  readonly pace: OAuthPace;
}

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];
const wrong = (text: string) => new FabricError('invalid_request', text);

const checkRedirect = (text: string, { redirectUris }: LoginSettings): void => {
  const url = URL.parse(text);
  const isPlain = url !== null && url.username === '' && url.password === '' && url.hash === '';
  const isLoopback = isPlain && url.protocol === 'http:' && LOOPBACK.includes(url.host.replace(/:\d+$/, ''));
  if (!isLoopback && !redirectUris.includes(text)) {
    throw wrong('a login comes back to a loopback address, or to one that the operator named');
  }
};

const checkKind = ({ kind }: CredentialRecord): void => {
  if (kind !== 'oauth_authorization_code') throw wrong('a credential of this kind has no login');
};

const authorizationEndpoint = ({ server }: Issuer, issuer: string): URL => {
  const methods = server.code_challenge_methods_supported;
  if (methods !== undefined && !methods.includes('S256')) {
    throw new NoToken('refused', 'the authorisation server has no PKCE with S256');
  }
  const url = URL.parse(server.authorization_endpoint ?? '');
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && issuer.startsWith('http:'));
  if (url === null || !isSafe) throw new NoToken('refused', 'the authorisation server has no address for a login');
  return url;
};

const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** The address that a browser came back to, without its parameters. */
const placeOf = (url: URL): string => `${url.origin}${url.pathname}`;

const parametersOf = (address: string, redirectUri: string): URLSearchParams => {
  const url = URL.parse(address);
  if (url === null || placeOf(url) !== placeOf(new URL(redirectUri))) {
    throw wrong('this is not the address that the login comes back to');
  }
  return url.searchParams;
};

/** Authorization code with PKCE: each login for one version of a credential, used once, within its time. */
export class Logins {
  readonly #ports: LoginPorts;
  readonly #settings: LoginSettings;

  constructor(ports: LoginPorts, settings: LoginSettings) {
    this.#ports = ports;
    this.#settings = settings;
  }

  /**
   * `place`: where the login waits, one for each credential; the newest counts. Throws `invalid_request` for an address
   * that no login comes back to, and `NoToken`.
   */
  async begin({ record, place }: Kept, redirectUri: string): Promise<BegunLogin> {
    checkKind(record);
    checkRedirect(redirectUri, this.#settings);
    const oauth = oauthOf(record);
    const url = authorizationEndpoint(await this.#ports.issuers.find(oauth), oauth.issuer);
    const [state, verifier] = [generateRandomState(), generateRandomCodeVerifier()];
    const expiresAt = this.#ports.clock.now() + this.#ports.pace.loginMs;
    const asked = {
      response_type: 'code',
      client_id: oauth.clientId,
      redirect_uri: redirectUri,
      state,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...targetOf(record),
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    await this.#ports.vault.put(place, { state, verifier, redirectUri, version: record.version, expiresAt });
    return { address: url.href, state, expiresAt };
  }

  /**
   * What the vault has to keep from now on: `secrets`, which the owner gave, with the tokens of the login. `address` is
   * what the browser came back to. Throws `invalid_request` when it does not belong to the login that waits, and
   * `NoToken`; a login that was refused or lost is over.
   */
  async complete(kept: Kept, secrets: Secrets, state: string, address: string): Promise<Secrets> {
    const { record } = kept;
    checkKind(record);
    const issuer = await this.#ports.issuers.find(oauthOf(record));
    const { verifier, redirectUri, parameters } = await this.#take(kept, state, address);
    const { refreshToken: _, ...given } = secrets;
    const asking = askingOf(record, given, issuer);
    const code = validated(asking, parameters, state);
    const { resource } = oauthOf(record);
    const options = { ...issuer.options, additionalParameters: resource === undefined ? {} : { resource } };
    const { client, authenticate } = asking;
    const asked = authorizationCodeGrantRequest(
      issuer.server,
      client,
      authenticate,
      code,
      redirectUri,
      verifier,
      options,
    );
    const tokens = await readTokens(asking, asked).catch((thrown: unknown) => {
      throw thrown instanceof LostAnswer ? new NoToken('login', 'the answer was lost, and with it the login') : thrown;
    });
    const taken = nextSecrets(record, given, tokens, this.#ports.clock.now());
    if (taken.refused !== undefined) throw taken.refused;
    return taken.secrets;
  }

  async #take({ record, place }: Kept, state: string, address: string) {
    const { vault, clock } = this.#ports;
    const opened = await vault.read(place);
    const isWaiting = opened !== undefined && isSame(opened.secrets.state, state);
    if (!isWaiting || opened.secrets.version !== record.version || opened.secrets.expiresAt <= clock.now()) {
      throw wrong('no such login waits for its owner: it is over, another one began, or it took too long');
    }
    const { verifier, redirectUri } = opened.secrets;
    const parameters = parametersOf(address, redirectUri);
    if (!isSame(parameters.get('state') ?? '', state)) throw wrong('the answer belongs to another login');
    if (!(await vault.take(place, opened))) throw wrong('this login was completed before');
    return { verifier, redirectUri, parameters };
  }
}

/** State and, by RFC 9207, the issuer are as they must be, and there is a code. */
const validated = ({ issuer, client }: Asking, parameters: URLSearchParams, state: string): URLSearchParams => {
  try {
    return validateAuthResponse(issuer.server, client, parameters, state);
  } catch (thrown) {
    if (!(thrown instanceof AuthorizationResponseError)) throw wrong('this answer is of another authorisation server');
    throw new NoToken('login', `the authorisation server refused the login: ${codeOf(thrown.error)}`);
  }
};
