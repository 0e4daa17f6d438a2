import { type Clock, systemClock } from '@toolfabric/kernel';

/** The real clock, moved ahead by hand. */
export class ManualClock implements Clock {
  #ahead = 0;

  advance(ms: number): void {
    this.#ahead += ms;
  }

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#ahead;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }
}
