import type { CredentialRecord } from '@toolfabric/contract';
import {
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  genericTokenEndpointRequest,
  None,
  processGenericTokenEndpointResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi';
import { z } from 'zod';
import type { Secrets } from '../vault/secrets.ts';
import type { Issuer } from './discover.ts';
import { NoAnswer } from './guarded-fetch.ts';
import { codeOf, NoToken, unreachable } from './oauth-failure.ts';

/** What one request to a token end point needs. */
export interface Asking {
  readonly record: CredentialRecord;
  readonly secrets: Secrets;
  readonly issuer: Issuer;
  readonly client: Client;
  readonly authenticate: ClientAuth;
  /** What is exchanged; of a kind that exchanges nothing, nothing. */
  readonly subjectToken: string | undefined;
}

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

export const oauthOf = ({ oauth }: CredentialRecord): NonNullable<CredentialRecord['oauth']> => {
  if (oauth === undefined) throw new NoToken('refused', 'the credential names no authorisation server');
  return oauth;
};

const authenticationOf = ({ server }: Issuer, secret: string | undefined): ClientAuth => {
  if (secret === undefined) return None();
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret);
};

export const askingOf = (
  record: CredentialRecord,
  secrets: Secrets,
  issuer: Issuer,
  subjectToken?: string,
): Asking => ({
  record,
  secrets,
  issuer,
  client: { client_id: oauthOf(record).clientId },
  authenticate: authenticationOf(issuer, secrets.clientSecret),
  subjectToken: subjectToken ?? secrets.subjectToken,
});

/** RFC 8707 and the scopes, where the record has them. */
export const targetOf = (record: CredentialRecord): Record<string, string> => {
  const { scopes, resource } = oauthOf(record);
  return {
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...(resource === undefined ? {} : { resource }),
  };
};

const GRANTS = {
  oauth_authorization_code: ({ issuer, client, authenticate, record, secrets }: Asking) => {
    if (secrets.refreshToken === undefined) throw new NoToken('login', 'the login has run out');
    const { resource } = oauthOf(record);
    const additionalParameters = resource === undefined ? {} : { resource };
    const options = { ...issuer.options, additionalParameters };
    return refreshTokenGrantRequest(issuer.server, client, authenticate, secrets.refreshToken, options);
  },
  oauth_client_credentials: ({ issuer, client, authenticate, record }: Asking) =>
    clientCredentialsGrantRequest(issuer.server, client, authenticate, targetOf(record), issuer.options),
  oauth_token_exchange: ({ issuer, client, authenticate, record, subjectToken }: Asking) => {
    if (subjectToken === undefined) throw new NoToken('refused', 'there is no token to exchange');
    const subject = { subject_token: subjectToken, subject_token_type: ACCESS_TOKEN };
    const parameters = { ...targetOf(record), ...subject, requested_token_type: ACCESS_TOKEN };
    return genericTokenEndpointRequest(issuer.server, client, authenticate, EXCHANGE, parameters, issuer.options);
  },
} as const;

/** Whether the server may have acted although nothing usable came back. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer';
}

const Body = z.record(z.string(), z.unknown());

/** What stands in an answer; nothing for what is no JSON object. */
const bodyOf = async (response: Response): Promise<z.infer<typeof Body> | undefined> => {
  try {
    return Body.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
};

const failureOf = (status: number, code: string): Error => {
  if (status === 429 || status === 503 || code === 'temporarily_unavailable') {
    return new NoToken('unavailable', `the authorisation server does not answer now (status ${status})`);
  }
  if (status >= 500 || status < 400 || code === 'server_error') return new LostAnswer();
  if (code === 'invalid_grant')
    return new NoToken('login', 'the authorisation server does not take the login any more');
  return new NoToken('refused', `the authorisation server refused it: ${code} (status ${status})`);
};

/** Reads what a token end point answered. Throws `NoToken` or `LostAnswer`, never what stood in the answer. */
export const readTokens = async (asking: Asking, asked: Promise<Response>): Promise<TokenEndpointResponse> => {
  let response: Response;
  try {
    response = await asked;
  } catch (thrown) {
    if (thrown instanceof NoAnswer) throw thrown.isSent ? new LostAnswer() : unreachable(thrown.reason);
    throw thrown instanceof NoToken ? thrown : new NoToken('refused', 'the token end point cannot be asked');
  }
  const body = await bodyOf(response);
  if (response.status !== 200) throw failureOf(response.status, codeOf(body?.['error']));
  // Some say no with a 200.
  if (body?.['error'] !== undefined) throw failureOf(400, codeOf(body['error']));
  try {
    const { issuer, client } = asking;
    // Who logged in is nobody's business here: a token about them is not looked at, so that it breaks nothing either.
    const { id_token: _, ...tokens } = Body.parse(body);
    const headers = { 'content-type': response.headers.get('content-type') ?? '' };
    const read = new Response(JSON.stringify(tokens), { headers });
    return await processGenericTokenEndpointResponse(issuer.server, client, read);
  } catch {
    throw new LostAnswer();
  }
};

/** Fetches tokens by the grant of the record's kind. Throws `NoToken` or `LostAnswer`. */
export const askTokens = async (asking: Asking): Promise<TokenEndpointResponse> => {
  const { kind } = asking.record;
  if (kind === 'static') throw new NoToken('refused', 'a secret that was given once is not renewed');
  return readTokens(asking, GRANTS[kind](asking));
};
