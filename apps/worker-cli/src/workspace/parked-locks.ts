import { fstatSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/** Milliseconds for which a lock that was let go is kept at hand. */
const PARK_MS = 50;
/** Milliseconds after which it is given to the others, however often it was wanted here. */
const MOST_MS = 1_000;

interface Parked {
  readonly file: FileHandle;
  readonly takenAt: number;
  readonly timer: NodeJS.Timeout;
}

export interface HeldFile {
  readonly file: FileHandle;
  /** When the kernel gave the lock, by the monotonic clock of this process. */
  readonly takenAt: number;
}

const isStill = (file: FileHandle, path: string): boolean => {
  const now = statSync(path, { throwIfNoEntry: false });
  const own = fstatSync(file.fd);
  return now !== undefined && now.ino === own.ino && now.dev === own.dev;
};

/**
 * Locks that this process has let go a moment ago and whose file it has not closed yet: whoever wants one here again
 * needs no program to take it. Others wait for it that much longer, a bounded time. Nothing is held that a death would
 * not free.
 */
export class ParkedLocks {
  readonly #parked = new Map<string, Parked>();
  readonly #waiting = new Map<string, number>();

  /** Runs `work`, which waits for the lock of that path by other means: meanwhile it is not kept back from it. */
  async waitingFor<T>(path: string, work: () => Promise<T>): Promise<T> {
    this.#waiting.set(path, (this.#waiting.get(path) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (this.#waiting.get(path) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(path);
      else this.#waiting.set(path, left);
    }
  }

  /** The lock of that path, when it is at hand. */
  take(path: string): HeldFile | undefined {
    const found = this.#parked.get(path);
    if (found === undefined) return undefined;
    clearTimeout(found.timer);
    this.#parked.delete(path);
    if (isStill(found.file, path)) return found;
    void found.file.close();
    return undefined;
  }

  async release(path: string, { file, takenAt }: HeldFile): Promise<void> {
    const isWanted = this.#parked.has(path) || this.#waiting.has(path);
    if (isWanted || performance.now() - takenAt > MOST_MS) return await file.close();
    const timer = setTimeout(() => {
      this.#parked.delete(path);
      void file.close();
    }, PARK_MS);
    timer.unref();
    this.#parked.set(path, { file, takenAt, timer });
  }
}
