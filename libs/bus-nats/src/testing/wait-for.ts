export interface WaitOptions {
  /** Milliseconds; 10,000 when left out. */
  readonly timeoutMs?: number;
  /** Milliseconds between two looks; 20 when left out. */
  readonly everyMs?: number;
  /** What is waited for, for the message of the error. */
  readonly what?: string;
}

/** Looks until `predicate` gives something truthy, and returns that. Throws when the time is up; a throw of the last look is its cause. */
export const waitFor = async <T>(
  predicate: () => T | Promise<T>,
  { timeoutMs = 10_000, everyMs = 20, what = 'the condition' }: WaitOptions = {},
): Promise<NonNullable<T>> => {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const found = await predicate();
      if (found) return found as NonNullable<T>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${timeoutMs} ms`, { cause });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
};
