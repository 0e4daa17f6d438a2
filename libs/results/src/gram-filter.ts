const FIVE_BITS = 31;

const gramAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) & FIVE_BITS) |
  (((bytes[at + 1] as number) & FIVE_BITS) << 5) |
  (((bytes[at + 2] as number) & FIVE_BITS) << 10);

/**
 * A fast sieve for words of four characters or more, in any case: three neighbouring bytes, five bits of each, looked at
 * in every second place, and the fourth byte where that hits. It passes every place where a word can begin and few
 * others; the caller looks closer.
 */
export class GramFilter {
  readonly #grams = new Uint8Array(1 << 15);
  /** One bit for each beginning of four characters. */
  readonly #beginnings = new Uint8Array(1 << 17);

  constructor(words: readonly string[]) {
    for (const word of words) {
      if (word.length < 4) throw new TypeError('a word of the filter has four characters or more');
      const bytes = Buffer.from(word, 'latin1');
      this.#grams[gramAt(bytes, 0)] = 1;
      this.#grams[gramAt(bytes, 1)] = 1;
      const beginning = gramAt(bytes, 0) | (((bytes[3] as number) & FIVE_BITS) << 15);
      this.#beginnings[beginning >> 3] = (this.#beginnings[beginning >> 3] ?? 0) | (1 << (beginning & 7));
    }
  }

  #canBegin(bytes: Uint8Array, at: number): boolean {
    const beginning = gramAt(bytes, at) | (((bytes[at + 3] as number) & FIVE_BITS) << 15);
    return ((this.#beginnings[beginning >> 3] as number) & (1 << (beginning & 7))) !== 0;
  }

  /** The first place at which a gram hits; `to` when there is none. Each byte is read once. */
  #hit(bytes: Uint8Array, from: number, to: number): number {
    const grams = this.#grams;
    const last = to - 2;
    let first = (bytes[from] as number) & FIVE_BITS;
    for (let at = from; at < last; at += 2) {
      const third = (bytes[at + 2] as number) & FIVE_BITS;
      if (grams[first | (((bytes[at + 1] as number) & FIVE_BITS) << 5) | (third << 10)] !== 0) return at;
      first = third;
    }
    return to;
  }

  /** The first place from `from` on at which a word may begin; `to` when there is none. */
  next(bytes: Uint8Array, from: number, to: number): number {
    let at = this.#hit(bytes, from, to);
    while (at < to) {
      if (at > from && this.#canBegin(bytes, at - 1)) return at - 1;
      if (at + 3 < to && this.#canBegin(bytes, at)) return at;
      at = this.#hit(bytes, at + 2, to);
    }
    return to;
  }
}
