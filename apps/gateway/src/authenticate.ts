import type { Metadata } from '@grpc/grpc-js';
import type { Actor } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { hashOf, type TokenBook } from './tokens.ts';

/** Who is calling, as the token says. */
export interface Identity {
  readonly tokenId: string;
  readonly actor: Actor;
  readonly rights: readonly string[];
  /** Whether the token is still valid and still says the same: asked again before anything is told later. */
  isCurrent(): boolean;
}

const BEARER = /^bearer ([\x21-\x7e]{1,256})$/i;

export const unauthenticated = (): FabricError =>
  new FabricError('unauthenticated', 'no valid bearer token came with the request');

/** Throws `unauthenticated`, whatever is wrong with the token, and says nothing more. */
export const authenticate = (metadata: Metadata, book: TokenBook, now: () => number): Identity => {
  const values = metadata.get('authorization');
  const token = values.length === 1 ? BEARER.exec(String(values[0]))?.[1] : undefined;
  const hash = token === undefined ? undefined : hashOf(token);
  const entry = hash && book.find(hash, now());
  if (hash === undefined || entry === undefined) throw unauthenticated();
  const { id, tenant, user, agent, rights } = entry;
  return {
    tokenId: id,
    actor: { tenant, user, agent },
    rights,
    isCurrent() {
      const present = book.find(hash, now());
      return present !== undefined && present.tenant === tenant && present.user === user && present.agent === agent;
    },
  };
};
