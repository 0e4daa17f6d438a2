import { Token } from '@toolfabric/contract';
import { z } from 'zod';

/** Asymmetric only: with a shared secret whoever checks a token could make one. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Keys that come in the clear from another machine could be anybody's. */
const isSafe = (text: string): boolean => {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || LOOPBACK.has(hostname);
};

const SafeUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => URL.canParse(text) && isSafe(text), 'https, or http on this machine');

const Claim = z.string().min(1).max(100);

/** One issuer of tokens that this installation believes, and what it reads out of them. */
export const OidcIssuer = z.strictObject({
  /** Equal to the claim `iss`, to the letter. */
  issuer: SafeUrl,
  /** One of them must stand in the claim `aud`. */
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(20)]),
  /** Found through the issuer's own discovery document when left out. */
  jwksUrl: SafeUrl.optional(),
  algorithms: z.array(z.enum(ALGORITHMS)).min(1).default(['RS256', 'PS256', 'ES256', 'EdDSA']),
  /** The tenant of every token of this issuer, or the claim that says it and what its values stand for. */
  tenant: z.union([Token, z.strictObject({ claim: Claim, values: z.record(z.string().min(1), Token) })]),
  userClaim: Claim.default('sub'),
  /** Keeps the users of this issuer apart from others of the same tenant. */
  userPrefix: z.string().max(60).default(''),
  agentClaim: Claim.default('azp'),
  /** A claim with a text or a list of texts, and the rights that each value gives. */
  rights: z
    .strictObject({ claim: Claim, values: z.record(z.string().min(1), z.array(z.string().min(1).max(64)).max(32)) })
    .optional(),
});
export type OidcIssuer = z.infer<typeof OidcIssuer>;

export const OidcFile = z
  .array(OidcIssuer)
  .min(1)
  .max(20)
  .refine((all) => new Set(all.map(({ issuer }) => issuer)).size === all.length, 'each issuer once');
