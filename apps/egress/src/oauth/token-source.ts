import type { Clock } from '@toolfabric/kernel';
import type { AccessToken } from './next-secrets.ts';
import { NoToken } from './oauth-failure.ts';
import type { OAuthPace } from './oauth-pace.ts';
import type { Kept, Renewals } from './renewals.ts';

const MOST_KEPT = 2_000;

/** What the last look found, and until when (monotonic milliseconds) nobody looks again. */
interface Found {
  readonly outcome: AccessToken | NoToken;
  readonly until: number;
}

/** The tokens of this process: one look at a time for each credential, whoever asks, and rest after a failure. */
export class TokenSource {
  readonly #looks = new Map<string, Promise<AccessToken>>();
  readonly #found = new Map<string, Found>();
  readonly #renewals: Renewals;
  readonly #clock: Clock;
  readonly #pace: OAuthPace;

  constructor(renewals: Renewals, clock: Clock, pace: OAuthPace) {
    this.#renewals = renewals;
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Throws `NoToken`. Who stops waiting does not end the look, which others may wait for. */
  async tokenFor(kept: Kept, signal: AbortSignal): Promise<AccessToken> {
    const found = this.#found.get(kept.place);
    if (found !== undefined && found.until > this.#clock.monotonic()) {
      if (found.outcome instanceof NoToken) throw found.outcome;
      return found.outcome;
    }
    const ended = Promise.withResolvers<never>();
    const onAbort = () => ended.reject(new NoToken('unavailable', 'nobody waits for the token any more'));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    return Promise.race([ended.promise, this.#look(kept)]).finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Resolves once nobody here speaks to an authorisation server any more. */
  async drained(): Promise<void> {
    while (this.#looks.size > 0) await Promise.allSettled(this.#looks.values());
  }

  #look(kept: Kept): Promise<AccessToken> {
    const { place } = kept;
    const running = this.#looks.get(place);
    if (running !== undefined) return running;
    const look = this.#renewals
      .renew(kept)
      .then((token) => this.#keep(place, token, this.#restOf(token)))
      .catch((thrown: unknown) => {
        if (thrown instanceof NoToken) this.#keep(place, thrown, this.#pace.restMs);
        throw thrown;
      })
      .finally(() => this.#looks.delete(place));
    look.catch(() => {});
    this.#looks.set(place, look);
    return look;
  }

  /** Until it should be renewed; one that should be already could not be, and is tried again after a rest. */
  #restOf({ renewFrom, expiresAt = Infinity }: AccessToken): number {
    const now = this.#clock.now();
    if (renewFrom === undefined) return this.#pace.restMs;
    return Math.min(renewFrom > now ? renewFrom - now : this.#pace.restMs, expiresAt - now);
  }

  #keep<T extends AccessToken | NoToken>(place: string, outcome: T, ms: number): T {
    this.#found.delete(place);
    const [oldest] = this.#found.keys();
    if (this.#found.size >= MOST_KEPT && oldest !== undefined) this.#found.delete(oldest);
    this.#found.set(place, { outcome, until: this.#clock.monotonic() + ms });
    return outcome;
  }
}
