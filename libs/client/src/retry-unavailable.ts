import type { Clock, FabricError } from '@toolfabric/kernel';
import { fromServiceError } from './from-service-error.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** Less than this is no time for an attempt; timers also fire a fraction early. */
const SHORTEST_ATTEMPT_MS = 2;

/** Pauses that double, with half of each left to chance, so that many clients do not come back together. */
export class BackOff {
  readonly #clock: Clock;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reset(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** Sleeps at least `leastMs`, but never past `until` (monotonic); false when no time is left for an attempt. */
  async pause(until: number, signal: AbortSignal | undefined, leastMs = 0): Promise<boolean> {
    const pauseMs = Math.max(leastMs, this.#pauseMs * (0.5 + Math.random() / 2));
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    await this.#clock.sleep(Math.max(0, Math.min(pauseMs, until - this.#clock.monotonic())), signal);
    signal?.throwIfAborted();
    return until - this.#clock.monotonic() >= SHORTEST_ATTEMPT_MS;
  }
}

/**
 * Runs `attempt` again while it fails with `unavailable` and time is left until `until` (monotonic). Safe for every
 * verb: each is create-or-verify, and an attempt carries the request key of the first.
 */
export const retryUnavailable = async <T>(
  attempt: () => Promise<T>,
  { until, signal, clock }: { until: number; signal: AbortSignal | undefined; clock: Clock },
): Promise<T> => {
  const backOff = new BackOff(clock);
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (thrown) {
      signal?.throwIfAborted();
      const error = fromServiceError(thrown);
      if (!isWorthRetrying(error)) throw error;
      if (!(await backOff.pause(until, signal, error.details.retryAfterMs))) throw error;
    }
  }
};

export const isWorthRetrying = (error: FabricError): boolean => error.type === 'unavailable';
