import type { CompiledSandbox } from './compile-sandbox.ts';
import type { ConfinedSandbox } from './confined-sandbox.ts';

export interface StandingBounds {
  /** Sandboxes of a worker, and of one place. */
  readonly most: number;
  readonly mostOfPlace: number;
  /** Milliseconds that one stands. */
  readonly ageMs: number;
  /** Milliseconds after a command in which nothing is done for the next one: its answer goes first. */
  readonly answerMs: number;
  /** Milliseconds from then on until a process is started, which takes the thread some milliseconds. */
  readonly delayMs: number;
  /** Milliseconds for which none is made after one could not be. */
  readonly pauseMs: number;
}

/** Two of a place: one is ready while the next is made, for commands that follow at once. */
export const STANDING_BOUNDS: StandingBounds = {
  most: 8,
  mostOfPlace: 2,
  ageMs: 20_000,
  answerMs: 4,
  delayMs: 6,
  pauseMs: 30_000,
};

/** Why one was thrown away. */
type Thrown =
  /** Its taker would have made another one. */
  | 'unfit'
  /** Its processes were gone. */
  | 'ended'
  | 'old'
  /** More of them stood than may. */
  | 'crowded'
  /** Nobody waits for it any more: its workspace is forgotten, or the worker or the call is stopping. */
  | 'dropped';

/** What becomes of them: of those that were made, each is used or thrown away once. */
export type StandingOutcome = 'made' | 'failed' | 'used' | Thrown;

/** How the next one is made. */
export interface MakeSandbox {
  /** What is to be made now. */
  compile(): CompiledSandbox;
  /**
   * Makes it until it is up, and keeps this thread busy with that only after `delayMs`. Ends what it has made and rejects
   * when the signal comes first.
   */
  make(compiled: CompiledSandbox, signal: AbortSignal, delayMs: number): Promise<ConfinedSandbox>;
}

interface Entry {
  readonly place: string;
  readonly key: string;
  /** Undefined when it could not be made. */
  readonly sandbox: Promise<ConfinedSandbox | undefined>;
  readonly stop: AbortController;
  readonly timer: NodeJS.Timeout;
}

/** What `work` resolves with, or undefined once the signal comes. */
const until = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stopped = () => resolve(undefined);
  signal.addEventListener('abort', stopped);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stopped);
  }
};

/**
 * Sandboxes that stand before their command is known. Each is given away once, and only while it is what its taker would
 * make itself; otherwise it is thrown away. Making one never fails anything, goes on one at a time for a place, and is
 * waited for only by who would have to make the same.
 */
export class StandingSandboxes {
  readonly #bounds: StandingBounds;
  readonly #hasRoom: () => boolean;
  /** In the order in which they were made. */
  readonly #entries = new Set<Entry>();
  /** Places for which one is about to be made, or is being made. */
  readonly #making = new Map<string, NodeJS.Timeout>();
  readonly #leaving = new Set<Promise<unknown>>();
  #tell: (outcome: StandingOutcome) => void = () => {};
  #pausedUntil = 0;
  #isOpen = true;

  constructor(hasRoom: () => boolean, bounds: StandingBounds = STANDING_BOUNDS) {
    this.#hasRoom = hasRoom;
    this.#bounds = bounds;
  }

  /** From now on `listener` hears what becomes of each. */
  onOutcome(listener: (outcome: StandingOutcome) => void): void {
    this.#tell = listener;
  }

  /** How many stand there, or are being made. */
  count(place: string): number {
    return this.#of(place).length;
  }

  /** One that stands at that place, when it is of that key and can be used. The others are thrown away. */
  async take(place: string, key: string, signal: AbortSignal): Promise<ConfinedSandbox | undefined> {
    for (const entry of this.#of(place)) {
      if (signal.aborted) return undefined;
      this.#forget(entry);
      const sandbox = entry.key === key ? await until(entry.sandbox, signal) : undefined;
      if (sandbox?.isStanding && !signal.aborted) {
        this.#tell('used');
        return sandbox;
      }
      this.#throwAway(entry, entry.key !== key ? 'unfit' : signal.aborted ? 'dropped' : 'ended');
    }
    return undefined;
  }

  /** Has the next one made in a moment, where there is room. */
  restock(place: string, how: MakeSandbox): void {
    if (!this.#mayMake(place)) return;
    this.#making.set(
      place,
      setTimeout(() => void this.#make(place, how), this.#bounds.answerMs),
    );
  }

  /** Throws away what stands at that place. */
  discard(place: string): void {
    this.#cancel(place);
    for (const entry of this.#of(place)) this.#remove(entry, 'dropped');
  }

  /** Makes no more, and resolves when none stands. */
  async close(): Promise<void> {
    this.#isOpen = false;
    for (const place of [...this.#making.keys()]) this.#cancel(place);
    for (const entry of [...this.#entries]) this.#remove(entry, 'dropped');
    while (this.#leaving.size > 0) await Promise.all(this.#leaving);
  }

  #of(place: string): Entry[] {
    return [...this.#entries].filter((entry) => entry.place === place);
  }

  #mayMake(place: string): boolean {
    if (!this.#isOpen || this.#making.has(place) || performance.now() < this.#pausedUntil) return false;
    return this.count(place) < this.#bounds.mostOfPlace;
  }

  async #make(place: string, how: MakeSandbox): Promise<void> {
    const sandbox = this.#hasRoom() ? await this.#begin(place, how) : undefined;
    this.#making.delete(place);
    if (sandbox !== undefined) this.restock(place, how);
  }

  #begin(place: string, { compile, make }: MakeSandbox): Promise<ConfinedSandbox | undefined> {
    const stop = new AbortController();
    const failed = () => {
      if (stop.signal.aborted) return undefined;
      this.#pausedUntil = performance.now() + this.#bounds.pauseMs;
      this.#tell('failed');
      return undefined;
    };
    let compiled: CompiledSandbox;
    try {
      compiled = compile();
    } catch {
      return Promise.resolve(failed());
    }
    const made = (one: ConfinedSandbox) => {
      this.#tell('made');
      return one;
    };
    const sandbox = make(compiled, stop.signal, this.#bounds.delayMs).then(made, failed);
    const timer = setTimeout(() => this.#remove(entry, 'old'), this.#bounds.ageMs);
    timer.unref();
    const entry: Entry = { place, key: compiled.key, sandbox, stop, timer };
    this.#entries.add(entry);
    for (const oldest of this.#entries) {
      if (this.#entries.size <= this.#bounds.most) break;
      this.#remove(oldest, 'crowded');
    }
    return sandbox;
  }

  #cancel(place: string): void {
    clearTimeout(this.#making.get(place));
    this.#making.delete(place);
  }

  #remove(entry: Entry, why: Thrown): void {
    this.#forget(entry);
    this.#throwAway(entry, why);
  }

  #forget(entry: Entry): void {
    clearTimeout(entry.timer);
    this.#entries.delete(entry);
  }

  #throwAway({ sandbox, stop }: Entry, why: Thrown): void {
    stop.abort();
    const gone: Promise<unknown> = sandbox
      .then((standing) => {
        if (standing !== undefined) this.#tell(why);
        return standing?.discard();
      })
      .finally(() => this.#leaving.delete(gone));
    this.#leaving.add(gone);
  }
}
