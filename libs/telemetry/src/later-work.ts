/** Milliseconds that work may wait for more of it. */
const LONGEST_WAIT_MS = 100;
/** Pieces that wait; with more of them the work begins at once. */
const MANY = 64;
/** Pieces of one turn of the event loop, so that no answer waits long for them. */
const IN_ONE_TURN = 8;

/**
 * Work for the trace that nobody waits for, done some at a time and a moment later: each piece by itself would delay the
 * next call of the same caller. Whoever adds bounds how much waits.
 */
export class LaterWork {
  #waiting: (() => Promise<void>)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #doing: Promise<void> | undefined;

  /** `work` must not reject; pieces are done one after the other. */
  readonly add = (work: () => Promise<void>): void => {
    if (this.#waiting.push(work) >= MANY) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), LONGEST_WAIT_MS);
  };

  /** Resolves when nothing waits any more; never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#doing ??= this.#doAll().finally(() => {
      this.#doing = undefined;
    });
    return this.#doing;
  }

  async #doAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const work of this.#waiting.splice(0, IN_ONE_TURN)) await work().catch(() => {});
    }
  }
}
