import type { CredentialRecord } from '@toolfabric/contract';
import { z } from 'zod';
import { NoToken } from './oauth-failure.ts';

const Claims = z.looseObject({
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  exp: z.number().optional(),
});
export type TokenClaims = z.infer<typeof Claims>;

/**
 * What an access token says of itself when it can be read (a JWT); nothing otherwise. Its signature is for whom it is
 * shown to: it came from the authorisation server itself, over its own connection.
 */
export const claimsOf = (token: string): TokenClaims | undefined => {
  const [head, payload, signature, ...rest] = token.split('.');
  if (head === undefined || payload === undefined || signature === undefined || rest.length > 0) return undefined;
  try {
    return Claims.safeParse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))).data;
  } catch {
    return undefined;
  }
};

const withoutSlash = (text: string): string => text.replace(/\/$/, '');

const hostOf = (text: string): string | undefined => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.hostname : undefined;
};

const fitsHosts = (host: string, { hosts }: CredentialRecord['audience']): boolean =>
  hosts.some((named) => (named.startsWith('*.') ? host.endsWith(named.slice(1)) : host === named));

/**
 * Throws `NoToken` (`refused`) when the token says that it is for somebody else: with a `resource` in the record it must
 * name that; without one, addresses that it names must not all lie outside the audience.
 */
export const checkAudience = ({ oauth, audience }: CredentialRecord, token: string): void => {
  const aud = claimsOf(token)?.aud;
  if (aud === undefined) return;
  const named = typeof aud === 'string' ? [aud] : aud;
  const { resource } = oauth ?? {};
  const hosts = named.map(hostOf);
  const fits =
    resource !== undefined
      ? named.some((one) => withoutSlash(one) === withoutSlash(resource))
      : hosts.some((host) => host === undefined || fitsHosts(host, audience));
  if (!fits) throw new NoToken('refused', 'the authorisation server gave a token for another audience');
};
