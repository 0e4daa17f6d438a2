import type { Clock } from '@toolfabric/kernel';
import { RevisionConflict, type Store, StoreUnavailable, type Versioned } from '@toolfabric/ports';

/** What the store does at one read or write; each is used once, in order, and then it works. */
export type StoreStep<T> =
  | 'works'
  /** The request never arrived. */
  | 'unavailable'
  /** The write was applied, its answer was lost. */
  | 'applied, unanswered'
  /** Somebody else writes this value just before. */
  | { readonly beaten: T }
  /** The write is applied, its answer is lost, and somebody else writes this value after it. */
  | { readonly overtaken: T }
  | { readonly fails: Error };

/** For tests of compare-and-set: one key in memory that fails when and how it is told. */
export class ScriptedStore<T> implements Store<T> {
  readonly reads: StoreStep<T>[] = [];
  readonly writes: StoreStep<T>[] = [];
  /** `get`, `create` and `update`, in order. */
  readonly asked: string[] = [];
  #stored: Versioned<T> | undefined;

  constructor(value?: T) {
    if (value !== undefined) this.put(value);
  }

  get stored(): Versioned<T> | undefined {
    return this.#stored;
  }

  put(value: T): number {
    const revision = (this.#stored?.revision ?? 0) + 1;
    this.#stored = { value, revision };
    return revision;
  }

  async get(): Promise<Versioned<T> | undefined> {
    this.asked.push('get');
    const step = this.reads.shift() ?? 'works';
    if (step === 'unavailable') throw new StoreUnavailable('no answer');
    if (typeof step === 'object' && 'fails' in step) throw step.fails;
    return this.#stored;
  }

  create(_key: string, value: T): Promise<number> {
    this.asked.push('create');
    return this.#write(value, 0);
  }

  update(_key: string, value: T, revision: number): Promise<number> {
    this.asked.push('update');
    return this.#write(value, revision);
  }

  async remove(): Promise<boolean> {
    throw new Error('not used');
  }

  async keys(): Promise<string[]> {
    throw new Error('not used');
  }

  async lastRevision(): Promise<number> {
    return this.#stored?.revision ?? 0;
  }

  async #write(value: T, expected: number): Promise<number> {
    const step = this.writes.shift() ?? 'works';
    if (step === 'unavailable') throw new StoreUnavailable('no answer');
    if (typeof step === 'object' && 'fails' in step) throw step.fails;
    if (typeof step === 'object' && 'beaten' in step) this.put(step.beaten);
    if ((this.#stored?.revision ?? 0) !== expected) throw new RevisionConflict('somebody wrote first');
    const revision = this.put(value);
    if (step === 'works') return revision;
    if (typeof step === 'object' && 'overtaken' in step) this.put(step.overtaken);
    throw new StoreUnavailable('no answer');
  }
}

/** A clock that stands still but for its sleeps. */
export class SleepClock implements Clock {
  readonly slept: number[] = [];
  /** Called at each sleep. */
  onSleep: () => void = () => {};

  now(): number {
    return this.monotonic();
  }

  monotonic(): number {
    return this.slept.reduce((sum, ms) => sum + ms, 0);
  }

  async sleep(ms: number): Promise<void> {
    this.slept.push(ms);
    this.onSleep();
  }
}
