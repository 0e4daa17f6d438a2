import { setImmediate } from 'node:timers/promises';
import { throwIfStopped } from '../../process/stop-reason.ts';

/** Milliseconds that one piece of work may hold the event loop. */
const TURN_MS = 8;

/** Lets others run every few milliseconds of work that does not wait by itself, and ends it with its signal. */
export class Breath {
  readonly #signal: AbortSignal;
  #since = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get isDue(): boolean {
    return performance.now() - this.#since > TURN_MS;
  }

  async take(): Promise<void> {
    await setImmediate();
    throwIfStopped(this.#signal);
    this.#since = performance.now();
  }
}
