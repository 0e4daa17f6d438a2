import type { RemoteProvider } from '@toolfabric/contract';
import type { ParsedQuery } from '../query/parse-query.ts';
import type { ProviderAnswer } from './provider-answer.ts';

/** What every provider is asked. */
export interface Asked {
  readonly query: ParsedQuery;
  /** Results that are wanted. */
  readonly count: number;
  /** Days, `YYYY-MM-DD`, both included. */
  readonly after?: string;
  readonly before?: string;
  /** BCP 47, two letters and what may follow. */
  readonly language?: string;
}

export interface ProviderRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** One kind of provider: its documented request, and its documented answer. */
export interface WebProvider {
  request(base: URL, asked: Asked): ProviderRequest;
  /** Of a status 200 that is JSON; undefined where it is not what is documented. `now`: milliseconds since the epoch. */
  read(json: unknown, now: number): ProviderAnswer | undefined;
}

export type ProviderKind = RemoteProvider['kind'];

/** A path below the base, whether or not that ends with a slash. */
export const below = (base: URL, path: string): URL => {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
  return url;
};
