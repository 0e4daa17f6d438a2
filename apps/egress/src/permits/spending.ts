/** What one execution has used, however often its permit was opened. */
export class Spending {
  readonly #maxBytes: number;
  #bytes = 0;
  /** Connections that are open under any opening of its permit. */
  connections = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isUsedUp(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  /** Whether so many bytes may still pass; they count as used when they may. */
  spend(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) {
      this.#bytes = this.#maxBytes;
      return false;
    }
    this.#bytes += bytes;
    return true;
  }
}
