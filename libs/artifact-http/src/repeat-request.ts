import { FabricError, systemClock } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';

/** Milliseconds before the second and the third try. */
const PAUSES: readonly number[] = [100, 500];
const LONGEST_PAUSE_MS = 2_000;

/**
 * Tries a request, whose repeat is harmless, up to three times: while the store does not answer, or has no room at the
 * moment. Ends by the signal.
 */
export const repeatRequest = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (thrown) {
      const pause = PAUSES[tries];
      if (pause === undefined || !mayRepeat(thrown)) throw thrown;
      await systemClock.sleep(pauseOf(thrown, pause), signal);
      signal.throwIfAborted();
    }
  }
};

const mayRepeat = (thrown: unknown): boolean =>
  thrown instanceof StoreUnavailable || (thrown instanceof FabricError && thrown.type === 'overloaded');

const pauseOf = (thrown: unknown, pause: number): number => {
  const asked = thrown instanceof FabricError ? (thrown.details.retryAfterMs ?? 0) : 0;
  return Math.min(LONGEST_PAUSE_MS, Math.max(pause, asked));
};
