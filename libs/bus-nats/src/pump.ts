import type { PulledDelivery } from './delivery.ts';
import type { BusLink } from './link.ts';
import type { PullEnd, PullGroup, PullGroupOptions } from './pull-group.ts';

export type OnDelivery = (delivery: PulledDelivery) => Promise<void>;
export type MakeGroup = (handlers: Pick<PullGroupOptions, 'onDelivery' | 'onEnd'>) => PullGroup;

const OVERDUE_EVERY_MS = 1_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * What every loop of pulls has in common: places, a surplus handed back at once, a pause after trouble, renewal after
 * a new connection, drain. Subclasses say what to ask for when there is a free place.
 */
export abstract class Pump {
  protected readonly link: BusLink;
  readonly #places: number;
  readonly #onDelivery: OnDelivery;
  readonly #running = new Set<Promise<void>>();
  readonly #groups: PullGroup[] = [];
  #stopped = false;
  #pauseMs = 0;
  #paused: NodeJS.Timeout | undefined;

  constructor(link: BusLink, places: number, onDelivery: OnDelivery) {
    this.link = link;
    this.#places = places;
    this.#onDelivery = onDelivery;
  }

  /** Asks for messages; called whenever something changed. `free` is at least 1. */
  protected abstract ask(free: number): void;

  protected get free(): number {
    return this.#places - this.#running.size;
  }

  protected group(make: MakeGroup, onEnd: (end: PullEnd) => void): PullGroup {
    const group = make({
      onDelivery: (delivery) => this.#arrive(delivery),
      onEnd: (end) => {
        if (end === 'trouble') this.#pause();
        if (!this.#stopped) onEnd(end);
      },
    });
    this.#groups.push(group);
    return group;
  }

  /** Resolves when `signal` was aborted and the last delivery has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const overdue = setInterval(() => {
      for (const group of this.#groups) group.dropOverdue();
      this.next();
    }, OVERDUE_EVERY_MS);
    const unsubscribe = this.link.onReconnect(() => {
      for (const group of this.#groups) group.forget();
      this.#resume();
    });
    this.next();
    await aborted(signal);
    this.#stopped = true;
    clearInterval(overdue);
    clearTimeout(this.#paused);
    unsubscribe();
    await Promise.all(this.#groups.map((group) => group.close()));
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  protected next(): void {
    if (this.#stopped || this.#paused !== undefined || !this.link.connected) return;
    const { free } = this;
    if (free > 0) this.ask(free);
  }

  #arrive(delivery: PulledDelivery): void {
    this.#pauseMs = 0;
    if (this.#stopped || this.free <= 0) {
      delivery.nak(0);
      return;
    }
    const done = this.#onDelivery(delivery)
      .catch(() => {})
      .then(() => {
        this.#running.delete(done);
        this.next();
      });
    this.#running.add(done);
    this.next();
  }

  #pause(): void {
    if (this.#stopped || this.#paused !== undefined) return;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2));
    this.#paused = setTimeout(() => this.#resume(), this.#pauseMs);
  }

  #resume(): void {
    clearTimeout(this.#paused);
    this.#paused = undefined;
    this.next();
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
