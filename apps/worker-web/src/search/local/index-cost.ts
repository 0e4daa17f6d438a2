/** Bytes of memory that one term of one document takes, and one term that no other document has; measured, rounded up. */
const POSTING_BYTES = 60;
const TERM_BYTES = 650;
/** A set of terms may hold those of documents that are gone, up to so many times what is still there. */
const STALE_TIMES = 2;
const STALE_FROM_BYTES = 64 * 1024 ** 2;

/** Estimates what an index takes before it takes it: no text says by its size how many terms it has. */
export class IndexCost {
  readonly #terms = new Set<string>();
  /** Bytes of memory of the documents that were added and not taken away. */
  bytes = 0;

  of(terms: ReadonlySet<string>): number {
    let bytes = 0;
    for (const term of terms) bytes += POSTING_BYTES + (this.#terms.has(term) ? 0 : TERM_BYTES);
    return bytes;
  }

  add(terms: ReadonlySet<string>): number {
    const cost = this.of(terms);
    for (const term of terms) this.#terms.add(term);
    this.bytes += cost;
    return cost;
  }

  takeAway(cost: number): void {
    this.bytes -= cost;
  }

  /** Most of what it takes belongs to documents that are gone. */
  get isStale(): boolean {
    const all = this.#terms.size * TERM_BYTES;
    return all > STALE_FROM_BYTES && all > STALE_TIMES * this.bytes;
  }
}
