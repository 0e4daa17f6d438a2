/** Ends a wait for the other side that takes too long; the time between two waits does not count. */
export class Silence {
  readonly #ms: number;
  readonly #onSilence: (error: Error) => void;

  constructor(ms: number, onSilence: (error: Error) => void) {
    this.#ms = ms;
    this.#onSilence = onSilence;
  }

  async during<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#onSilence(new Error('the artifact store is silent')), this.#ms);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }
}
