import type { Clock } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { throwIfStopped } from '../../process/stop-reason.ts';

/** Milliseconds for which an artifact store that is away is asked again. */
const PATIENCE_MS = 20_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

/** Repeats harmless work while the store does not answer. Throws `StoreUnavailable` in the end, or why it was stopped. */
export const patiently = async <T>(clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  const until = clock.monotonic() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (thrown) {
      throwIfStopped(signal);
      if (!(thrown instanceof StoreUnavailable) || clock.monotonic() + pause > until) throw thrown;
      await clock.sleep(pause, signal);
      throwIfStopped(signal);
    }
  }
};
