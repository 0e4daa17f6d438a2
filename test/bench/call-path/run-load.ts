import { type Load, type LoadResult, machineNow, type Stamp } from './jobs.ts';

/** One call; resolves with its id when it ended well, and rejects with a short name of what went wrong. */
export type OneCall = (caller: number) => Promise<string>;

const MOST_CALLS = 200_000;

const nameOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message.slice(0, 120) : 'thrown');

/** Keeps `callers` calls in flight until the time or the number is up. Failed calls are counted and not timed. */
export const runLoad = async (one: OneCall, load: Load): Promise<LoadResult> => {
  const latencies: number[] = [];
  const stamps: Stamp[] = [];
  const failed: Record<string, number> = {};
  let left = load.calls ?? MOST_CALLS;
  const start = machineNow();
  const caller = async (n: number) => {
    while (left > 0 && machineNow() - start < load.ms) {
      left -= 1;
      const began = machineNow();
      try {
        const callId = await one(n);
        const answered = machineNow();
        latencies.push(answered - began);
        if (load.stamped) stamps.push({ callId, began, answered });
      } catch (thrown) {
        const name = nameOf(thrown);
        failed[name] = (failed[name] ?? 0) + 1;
      }
    }
  };
  await Promise.all(Array.from({ length: load.callers }, (_, n) => caller(n)));
  return { latencies, elapsedMs: machineNow() - start, failed, stamps };
};
