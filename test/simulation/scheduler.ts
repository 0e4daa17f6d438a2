/** A small, fast, seeded generator (mulberry32); equal seeds give equal runs. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b1) >>> 0;
  }

  /** From 0 up to, but not, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T;
  }
}

interface Planned {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

const before = (a: Planned, b: Planned): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/**
 * Simulated time. One event runs at a time; before the next one every promise that it resolved has run on, so that a
 * run depends on the seed alone.
 */
export class Scheduler {
  now = 0;
  events = 0;
  readonly random: Random;
  readonly #heap: Planned[] = [];
  #order = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  after(ms: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at: this.now + ms, order: this.#order++, run });
    let child = heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(heap[child] as Planned, heap[parent] as Planned)) break;
      [heap[child], heap[parent]] = [heap[parent] as Planned, heap[child] as Planned];
      child = parent;
    }
  }

  /** Runs until `done` says so or simulated time is up; false when time was up first. */
  async run(untilMs: number, done: () => boolean): Promise<boolean> {
    while (this.#heap.length > 0 && this.now <= untilMs) {
      if (done()) return true;
      const next = this.#take();
      this.now = next.at;
      this.events += 1;
      next.run();
      await new Promise(setImmediate);
    }
    return done();
  }

  #take(): Planned {
    const heap = this.#heap;
    const first = heap[0] as Planned;
    const last = heap.pop() as Planned;
    if (heap.length > 0) {
      heap[0] = last;
      let parent = 0;
      while (true) {
        const left = 2 * parent + 1;
        if (left >= heap.length) break;
        const right = left + 1;
        const smaller = right < heap.length && before(heap[right] as Planned, heap[left] as Planned) ? right : left;
        if (!before(heap[smaller] as Planned, heap[parent] as Planned)) break;
        [heap[smaller], heap[parent]] = [heap[parent] as Planned, heap[smaller] as Planned];
        parent = smaller;
      }
    }
    return first;
  }
}
