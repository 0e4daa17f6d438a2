/** Time as everything below the composition roots sees it; tests and the simulation bring their own. */
export interface Clock {
  /** Milliseconds since the epoch: for expiries, which are compared between machines with leeway. */
  now(): number;
  /** Milliseconds of this process: for lives and leases, which never compare clocks. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
