/**
 * A queue between who brings bytes and who takes them, bounded in bytes: a full one makes the bringer wait. One taker.
 */
export class Channel implements AsyncIterable<Uint8Array> {
  readonly #most: number;
  #queue: Uint8Array[] = [];
  #bytes = 0;
  #state: 'open' | 'closed' | 'failed' = 'open';
  #failure: unknown;
  #wakeTaker: () => void = () => {};
  #wakeBringers: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Undefined when there is room for more; else a promise that resolves once there is. Never rejects. */
  push(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#state !== 'open' || bytes.length === 0) return undefined;
    this.#queue.push(bytes);
    this.#bytes += bytes.length;
    this.#wakeTaker();
    if (this.#bytes < this.#most) return undefined;
    return new Promise((resolve) => this.#wakeBringers.push(resolve));
  }

  /** No more will come; what is in it is still taken. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closed';
    this.#wakeTaker();
  }

  /** The taker gets this error in place of the rest, and nobody waits any more. */
  fail(failure: unknown): void {
    if (this.#state === 'failed') return;
    this.#state = 'failed';
    this.#failure = failure;
    this.#queue = [];
    this.#bytes = 0;
    this.#wakeTaker();
    this.#release();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#state === 'failed') throw this.#failure;
      const next = this.#queue.shift();
      if (next !== undefined) {
        this.#bytes -= next.length;
        if (this.#bytes < this.#most) this.#release();
        yield next;
      } else if (this.#state === 'closed') {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wakeTaker = resolve));
      }
    }
  }

  #release(): void {
    for (const wake of this.#wakeBringers.splice(0)) wake();
  }
}
