import type { OAuthClient } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi';
import { createGuardedFetch, type FetchSettings, type GuardedFetch, NoAnswer } from './guarded-fetch.ts';
import { NoToken, type NoTokenReason, unreachable } from './oauth-failure.ts';

/** An authorisation server, and how to speak to it. */
export interface Issuer {
  readonly server: AuthorizationServer;
  /** Options of every request to it. The way out decides about the scheme, for each address. */
  readonly options: { [customFetch]: GuardedFetch; [allowInsecureRequests]: true };
}

const KEPT_MS = 600_000;
const MOST_ISSUERS = 200;

/** RFC 8414, then OpenID Connect. */
const ALGORITHMS = ['oauth2', 'oidc'] as const;

const readMetadata = async (issuer: URL, options: Issuer['options']) => {
  let why: NoTokenReason = 'refused';
  for (const algorithm of ALGORITHMS) {
    const answer = await discoveryRequest(issuer, { ...options, algorithm });
    if (answer.status >= 500 || answer.status === 429) why = 'unavailable';
    if (answer.status !== 200) continue;
    return await processDiscoveryResponse(issuer, answer).catch(() => {
      throw new NoToken('refused', 'what the authorisation server says of itself is malformed or names another issuer');
    });
  }
  throw new NoToken(why, 'the authorisation server does not say where its end points are');
};

/** What authorisation servers say of themselves, each kept for ten minutes. */
export class Issuers {
  readonly #kept = new Map<string, { readonly issuer: Issuer; readonly until: number }>();
  readonly #settings: FetchSettings;
  readonly #clock: Clock;

  constructor(settings: FetchSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Throws `NoToken`. */
  async find({ issuer: text }: Pick<OAuthClient, 'issuer'>): Promise<Issuer> {
    const kept = this.#kept.get(text);
    if (kept !== undefined && kept.until > this.#clock.monotonic()) return kept.issuer;
    const url = new URL(text);
    const options = { [customFetch]: createGuardedFetch(url, this.#settings), [allowInsecureRequests]: true } as const;
    try {
      const issuer = { server: await readMetadata(url, options), options };
      this.#keep(text, issuer);
      return issuer;
    } catch (thrown) {
      if (thrown instanceof NoAnswer) throw unreachable(thrown.reason);
      throw thrown instanceof NoToken ? thrown : new NoToken('refused', 'the authorisation server cannot be asked');
    }
  }

  #keep(text: string, issuer: Issuer): void {
    this.#kept.delete(text);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MOST_ISSUERS && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(text, { issuer, until: this.#clock.monotonic() + KEPT_MS });
  }
}
