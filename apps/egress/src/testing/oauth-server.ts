import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Pem } from '../tls/create-authority.ts';
import { OAuthTokens } from './oauth-tokens.ts';

/** What it does with its next request at the token end point, after it did what was asked unless said otherwise. */
export type Mischief =
  /** The connection breaks instead of an answer. */
  | { readonly type: 'drop' }
  /** The answer comes when `release` is called. */
  | { readonly type: 'hold' }
  | { readonly type: 'status'; readonly status: number; readonly body?: string }
  /** Nothing was done. */
  | { readonly type: 'refuse'; readonly status: number; readonly error: string; readonly description?: string }
  /** The token is for somebody else. */
  | { readonly type: 'audience'; readonly aud: string }
  | { readonly type: 'life'; readonly seconds: number }
  /** Fields of the answer are others. */
  | { readonly type: 'answer'; readonly fields: Readonly<Record<string, unknown>> };

export interface OAuthServerOptions {
  readonly clients?: Readonly<Record<string, string | undefined>>;
  readonly lifeS?: number;
  readonly rotates?: boolean;
  readonly opaque?: boolean;
  readonly certificate?: Pem;
  /** Instead of the loopback address. */
  readonly host?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface Code {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly client: string;
  readonly resource: string | undefined;
  readonly scope: string;
}

type Fields = Readonly<Record<string, string | undefined>>;
type Outcome = { readonly status: number; readonly body: object };

const SUBJECT_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const refuse = (error: string, status = 400): Outcome => ({ status, body: { error } });
const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** A real OAuth 2.1 authorisation server over HTTP that writes down what really happened. Every login is agreed to. */
export class OAuthServer {
  readonly tokens = new OAuthTokens();
  /** Everything that reached the token end point, as it was written. */
  readonly heard: string[] = [];
  issuer = '';
  lifeS: number;
  rotates: boolean;
  readonly #options: OAuthServerOptions;
  readonly #codes = new Map<string, Code>();
  readonly #armed: Mischief[] = [];
  readonly #held: (() => void)[] = [];
  #close = async (): Promise<void> => {};

  constructor(options: OAuthServerOptions) {
    this.#options = options;
    this.lifeS = options.lifeS ?? 3_600;
    this.rotates = options.rotates ?? true;
  }

  static async start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
    const it = new OAuthServer(options);
    const { certificate, host = '127.0.0.1' } = options;
    const answer = (req: IncomingMessage, res: ServerResponse) => void it.#answer(req, res);
    const server = certificate === undefined ? createServer(answer) : createSecure({ ...certificate }, answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    it.issuer = `${certificate === undefined ? 'http' : 'https'}://${host}:${(server.address() as AddressInfo).port}`;
    it.#close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return it;
  }

  get truth() {
    return this.tokens.truth;
  }

  count(event: string, grant?: string): number {
    return this.truth.filter(
      (one) => one.event === event && (grant === undefined || ('grant' in one && one.grant === grant)),
    ).length;
  }

  arm(...mischief: Mischief[]): void {
    this.#armed.push(...mischief);
  }

  /** Answers that are held. */
  get waiting(): number {
    return this.#held.length;
  }

  release(): void {
    for (const go of this.#held.splice(0)) go();
  }

  /** What a browser does whose owner agrees: where it comes back to. */
  async browse(address: string): Promise<string> {
    const url = new URL(address);
    const asked = Object.fromEntries(url.searchParams) as Fields;
    const {
      response_type,
      client_id = '',
      redirect_uri = '',
      code_challenge_method,
      code_challenge = '',
      state,
    } = asked;
    const isGood = response_type === 'code' && code_challenge_method === 'S256' && client_id in this.#clients;
    if (!isGood || url.origin + url.pathname !== `${this.issuer}/authorize`)
      throw new Error('a bad request for a login');
    const code = randomBytes(18).toString('base64url');
    const { resource, scope = '' } = asked;
    this.#codes.set(code, { redirectUri: redirect_uri, challenge: code_challenge, client: client_id, resource, scope });
    const back = new URL(redirect_uri);
    back.searchParams.set('code', code);
    if (state !== undefined) back.searchParams.set('state', state);
    back.searchParams.set('iss', this.issuer);
    return back.href;
  }

  async stop(): Promise<void> {
    this.release();
    await this.#close();
  }

  get #clients() {
    return this.#options.clients ?? { fabric: 'client-secret-canary', public: undefined };
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.url === '/.well-known/oauth-authorization-server') return send(res, 200, this.#metadata());
    if (req.url !== '/token' || req.method !== 'POST') return send(res, 404, { error: 'not_found' });
    const body = await text(req);
    this.heard.push(`${req.headers.authorization ?? ''} ${body}`);
    await this.#token(Object.fromEntries(new URLSearchParams(body)), req, res);
  }

  #metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      ...this.#options.metadata,
    };
  }

  async #token(fields: Fields, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const mischief = this.#armed.shift();
    if (mischief?.type === 'refuse') {
      const { status, error, description } = mischief;
      return send(res, status, { error, ...(description === undefined ? {} : { error_description: description }) });
    }
    const { status, body } = this.#grant(fields, req, mischief);
    if (mischief?.type === 'drop') return void req.socket.destroy();
    if (mischief?.type === 'status') return send(res, mischief.status, mischief.body ?? { error: 'server_error' });
    if (mischief?.type === 'hold') await new Promise<void>((go) => this.#held.push(go));
    send(res, status, mischief?.type === 'answer' ? { ...body, ...mischief.fields } : body);
  }

  #grant(fields: Fields, req: IncomingMessage, mischief: Mischief | undefined): Outcome {
    const client = this.#authenticate(fields, req);
    const { grant_type: grant = '', resource } = fields;
    this.truth.push({ event: 'asked', grant, client: client ?? '', resource });
    if (client === undefined) return refuse('invalid_client', 401);
    const options = {
      aud: mischief?.type === 'audience' ? mischief.aud : resource,
      issuer: this.issuer,
      lifeS: mischief?.type === 'life' ? mischief.seconds : this.lifeS,
      opaque: this.#options.opaque ?? false,
    };
    if (grant === 'authorization_code') return this.#byCode(fields, client, options);
    if (grant === 'refresh_token') {
      const tokens = this.tokens.refresh(fields['refresh_token'] ?? '', this.rotates, options);
      return tokens === undefined ? refuse('invalid_grant') : { status: 200, body: tokens };
    }
    if (grant === 'client_credentials') return { status: 200, body: this.tokens.alone(grant, options) };
    if (grant !== EXCHANGE || fields['subject_token_type'] !== SUBJECT_TYPE) return refuse('unsupported_grant_type');
    this.truth.push({ event: 'exchanged', subject: fields['subject_token'] ?? '' });
    return { status: 200, body: { ...this.tokens.alone(grant, options), issued_token_type: SUBJECT_TYPE } };
  }

  #byCode(fields: Fields, client: string, options: Parameters<OAuthTokens['alone']>[1]): Outcome {
    const { code = '', redirect_uri, code_verifier = '', resource } = fields;
    const known = this.#codes.get(code);
    this.#codes.delete(code);
    const isGood =
      known?.client === client &&
      known.redirectUri === redirect_uri &&
      known.challenge === challengeOf(code_verifier) &&
      known.resource === resource;
    if (!isGood) return refuse('invalid_grant');
    return { status: 200, body: this.tokens.begin('authorization_code', known.scope, options) };
  }

  #authenticate({ client_id, client_secret }: Fields, { headers }: IncomingMessage): string | undefined {
    const [scheme, coded = ''] = (headers.authorization ?? '').split(' ');
    const [user = '', secret] =
      scheme === 'Basic'
        ? Buffer.from(coded, 'base64').toString('utf8').split(':').map(decodeURIComponent)
        : [client_id ?? '', client_secret];
    return user in this.#clients && this.#clients[user] === secret ? user : undefined;
  }
}

const send = (res: ServerResponse, status: number, body: object | string): void => {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
};
