/** How a provider ended. Only `ok` and `empty` are answers: none of the others means that there is nothing to find. */
export const PROVIDER_STATES = [
  'ok',
  'empty',
  'blocked',
  'rate_limited',
  'timeout',
  'auth',
  'malformed',
  'unconfigured',
  'unreachable',
  'refused',
] as const;
export type ProviderState = (typeof PROVIDER_STATES)[number];

/** One result as a provider told it. Every text of it was written by the outside. */
export interface Found {
  readonly address: string;
  readonly title: string;
  /** What the provider says of it; it may be empty. */
  readonly description: string;
  /** Milliseconds since the epoch. */
  readonly published?: number;
  /** The whole text, where the provider holds it: nothing has to be fetched then. */
  readonly text?: string;
}

export interface ProviderAnswer {
  readonly state: ProviderState;
  /** Best first. */
  readonly found: readonly Found[];
  /** In our own words. */
  readonly why?: string;
  readonly retryAfterMs?: number;
  /** Results whose address cannot be asked for. */
  readonly unusable?: number;
  /** Engines behind the provider that did not answer, by what became of them. */
  readonly failedEngines?: Partial<Record<ProviderState, number>>;
  /** Of a local folder: what was not read, and why. */
  readonly leftOut?: Readonly<Record<string, number>>;
}

/** Ended without an answer. */
export const failed = (
  state: Exclude<ProviderState, 'ok' | 'empty'>,
  why: string,
  retryAfterMs?: number,
): ProviderAnswer => ({ state, found: [], why, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

export const isAnswer = ({ state }: ProviderAnswer): boolean => state === 'ok' || state === 'empty';
