import { createHash } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import type { Actor } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { Issuers } from './oidc/issuers.ts';
import { hashOf, type TokenBook } from './tokens.ts';

/** Who is calling, as the token says. */
export interface Identity {
  /** Names the token, or for a token of another issuer whom it speaks of; never its text. */
  readonly tokenId: string;
  readonly actor: Actor;
  readonly rights: readonly string[];
  /** Milliseconds since the epoch: when this person proved last who they are. A token of our own never says it. */
  readonly freshAt?: number;
  /** Whether the token is still valid and still says the same: asked again before anything is told later. */
  isCurrent(): boolean;
}

export interface Authenticator {
  readonly tokens: TokenBook;
  /** None where only tokens of our own are believed. */
  readonly issuers?: Issuers;
  readonly now: () => number;
}

const BEARER = /^bearer ([\x21-\x7e]{1,8192})$/i;
const MOST_OWN = 256;
/** Three parts of base64url: what no token of our own looks like. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export const unauthenticated = (): FabricError =>
  new FabricError('unauthenticated', 'no valid bearer token came with the request');

const ownIdentity = (token: string, { tokens, now }: Authenticator): Identity | undefined => {
  if (token.length > MOST_OWN) return undefined;
  const hash = hashOf(token);
  const entry = tokens.find(hash, now());
  if (entry === undefined) return undefined;
  const { id, tenant, user, agent, rights } = entry;
  return {
    tokenId: id,
    actor: { tenant, user, agent },
    rights,
    isCurrent() {
      const present = tokens.find(hash, now());
      if (present === undefined || present.tenant !== tenant || present.user !== user || present.agent !== agent)
        return false;
      return rights.every((right) => present.rights.includes(right));
    },
  };
};

const issuedIdentity = async (token: string, issuers: Issuers, now: () => number): Promise<Identity | undefined> => {
  const verified = await issuers.verify(token);
  if (verified === undefined) return undefined;
  const { actor, rights, freshAt, expiresAt, issuer, subject } = verified;
  const whom = createHash('sha256').update(`${issuer}\n${subject}\n${actor.tenant}\n${actor.agent}`).digest('hex');
  return {
    tokenId: `oidc-${whom.slice(0, 32)}`,
    actor,
    rights,
    ...(freshAt === undefined ? {} : { freshAt }),
    isCurrent: () => now() < expiresAt,
  };
};

/**
 * Throws `unauthenticated`, whatever is wrong with the token, and says nothing more; `unavailable` while the keys of
 * its issuer cannot be had, since then nobody knows.
 */
export const authenticate = async (metadata: Metadata, by: Authenticator): Promise<Identity> => {
  const values = metadata.get('authorization');
  const token = values.length === 1 ? BEARER.exec(String(values[0]))?.[1] : undefined;
  if (token === undefined) throw unauthenticated();
  const isIssued = by.issuers !== undefined && JWT.test(token);
  const identity = isIssued ? await issuedIdentity(token, by.issuers, by.now) : ownIdentity(token, by);
  if (identity === undefined) throw unauthenticated();
  return identity;
};
