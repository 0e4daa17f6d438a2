import { type Clock, canonicalJson } from '@toolfabric/kernel';
import { RevisionConflict, type Store, StoreUnavailable, type Versioned } from '@toolfabric/ports';

export type Change<T> =
  | { readonly done: true; readonly value: T; readonly revision: number }
  /** The transition does not apply to what is stored. */
  | { readonly done: false; readonly current: Versioned<T> | undefined };

export interface ChangeOptions<T> {
  readonly clock: Clock;
  /** Milliseconds after which an unavailable store is given up. */
  readonly patienceMs?: number;
  /** What the caller believes is stored, to save the first read; a wrong belief costs one more round. */
  readonly believed?: Versioned<T> | 'absent';
  readonly signal?: AbortSignal;
}

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
const MOST_CONFLICTS = 16;

/**
 * One transition, stored by compare-and-set. A lost race reads again and asks `transition` again; a write whose answer
 * was lost is settled by reading: equal content means that it was applied. Throws `StoreUnavailable` after
 * `patienceMs`; then it is not known whether the change was applied, and doing the same step again is safe.
 */
export const changeRecord = async <T>(
  store: Store<T>,
  key: string,
  transition: (current: T | undefined) => T | undefined,
  options: ChangeOptions<T>,
): Promise<Change<T>> => {
  const { clock, patienceMs = 4_000, signal } = options;
  const giveUpAt = clock.monotonic() + patienceMs;
  let believed = options.believed;
  let attempted: T | undefined;
  let pause = FIRST_PAUSE_MS;
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; ) {
    try {
      const current = believed === undefined ? await store.get(key) : believed === 'absent' ? undefined : believed;
      believed = undefined;
      if (attempted !== undefined && current !== undefined && isSame(current.value, attempted))
        return { done: true, ...current };
      const next = transition(current?.value);
      if (next === undefined) return { done: false, current };
      attempted = next;
      const revision = current ? await store.update(key, next, current.revision) : await store.create(key, next);
      return { done: true, value: next, revision };
    } catch (thrown) {
      if (thrown instanceof RevisionConflict) conflicts += 1;
      else if (!(thrown instanceof StoreUnavailable)) throw thrown;
      else if (signal?.aborted || clock.monotonic() >= giveUpAt) throw thrown;
      else await clock.sleep(pause, signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      believed = undefined;
    }
  }
  throw new StoreUnavailable(`lost the race for ${key} ${MOST_CONFLICTS} times`);
};

/** Create-or-verify: stores `value` where there is nothing; otherwise gives what is there. */
export const createRecord = <T>(
  store: Store<T>,
  key: string,
  value: T,
  options: ChangeOptions<T>,
): Promise<Change<T>> =>
  changeRecord(store, key, (current) => (current === undefined ? value : undefined), {
    believed: 'absent',
    ...options,
  });
