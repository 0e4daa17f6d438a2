/** Counts executions that ignore their signal; `tooMany` resolves when more than `most` of them run at once. */
export class Strays {
  readonly tooMany: Promise<string>;
  readonly #most: number;
  readonly #raise: (reason: string) => void;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.tooMany = promise;
    this.#raise = resolve;
  }

  get count(): number {
    return this.#count;
  }

  add(running: Promise<unknown>): void {
    this.#count += 1;
    if (this.#count > this.#most) this.#raise(`${this.#count} executions went on after they were given up`);
    const end = () => {
      this.#count -= 1;
    };
    running.then(end, end);
  }
}
