/** Executions that go on after their deliveries were acknowledged (protocol 9): a bounded number of places of their own. */
export class BackgroundRuns {
  readonly #most: number;
  readonly #running = new Set<Promise<void>>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a place, or says that there is none. Who took one gives it back, or hands it to `run`. */
  tryTake(): boolean {
    if (this.#taken >= this.#most) return false;
    this.#taken += 1;
    return true;
  }

  giveBack(): void {
    this.#taken -= 1;
  }

  /** Keeps the place until the execution, which must not reject, is over. */
  run(execution: Promise<void>): void {
    this.#running.add(execution);
    void execution.finally(() => {
      this.#running.delete(execution);
      this.giveBack();
    });
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
