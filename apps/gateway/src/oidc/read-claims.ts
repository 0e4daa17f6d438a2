import { Actor } from '@toolfabric/contract';
import type { JWTPayload } from 'jose';
import type { OidcIssuer } from './issuer-config.ts';

export interface ClaimedIdentity {
  readonly actor: Actor;
  readonly rights: readonly string[];
  /** Milliseconds since the epoch: when the person proved last who they are; undefined where the issuer does not say. */
  readonly freshAt: number | undefined;
}

const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return value.split(' ').filter((part) => part !== '');
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
};

/** A name of a claim is never a name of a prototype. */
const claimOf = (payload: JWTPayload, name: string): unknown =>
  Object.hasOwn(payload, name) ? payload[name] : undefined;

const lookUp = <T>(values: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(values, key) ? values[key] : undefined;

/** A token that names two tenants names none. */
const tenantOf = ({ tenant }: OidcIssuer, payload: JWTPayload): string | undefined => {
  if (typeof tenant === 'string') return tenant;
  const claimed = claimOf(payload, tenant.claim);
  const texts = typeof claimed === 'string' ? [claimed] : textsOf(claimed);
  const named = new Set(texts.map((text) => lookUp(tenant.values, text)).filter((found) => found !== undefined));
  const [only] = named;
  return named.size === 1 ? only : undefined;
};

const rightsOf = ({ rights }: OidcIssuer, payload: JWTPayload): string[] => {
  if (rights === undefined) return [];
  const given = textsOf(claimOf(payload, rights.claim)).flatMap((text) => lookUp(rights.values, text) ?? []);
  return [...new Set(given)].slice(0, 32);
};

const freshAtOf = ({ auth_time: authTime }: JWTPayload): number | undefined =>
  typeof authTime === 'number' && Number.isFinite(authTime) ? Math.trunc(authTime * 1_000) : undefined;

/** Who the verified payload speaks of; undefined where it does not say enough. */
export const readClaims = (issuer: OidcIssuer, payload: JWTPayload): ClaimedIdentity | undefined => {
  const user = claimOf(payload, issuer.userClaim);
  const agent = claimOf(payload, issuer.agentClaim);
  if (typeof user !== 'string' || typeof agent !== 'string' || user === '') return undefined;
  const actor = Actor.safeParse({ tenant: tenantOf(issuer, payload), user: `${issuer.userPrefix}${user}`, agent });
  if (!actor.success) return undefined;
  return { actor: actor.data, rights: rightsOf(issuer, payload), freshAt: freshAtOf(payload) };
};
