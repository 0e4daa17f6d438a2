import type { Clock } from '@toolfabric/kernel';

/** For tests: time stands still until the test moves it; a sleep moves it by itself and takes no time. */
export class HandClock implements Clock {
  /** Milliseconds since the epoch. */
  wall = 1_800_000_000_000;
  #monotonic = 0;

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  pass(ms: number): void {
    this.#monotonic += ms;
  }

  async sleep(ms: number): Promise<void> {
    this.pass(ms);
  }
}
