/** One piece of a stream that is cut into records at a byte. */
export interface Piece {
  /** The record, or its first bytes. */
  readonly bytes: Buffer;
  /** The record was longer than the limit; `bytes` is its beginning. */
  readonly oversized: boolean;
  /** What `watch` found in an oversized record. */
  readonly found: string | undefined;
}

export interface RecordOptions {
  readonly separator: number;
  /** Bytes of a record that are kept. */
  readonly limit: number;
  /** Looked for in what is dropped of an oversized record; its first group is reported. */
  readonly watch?: RegExp;
}

/** Longer than anything that a watched expression matches. */
const OVERLAP = 128;

/** Cuts chunks into records while they come; holds no more than one record up to the limit, whatever comes. */
export class Records {
  readonly #options: RecordOptions;
  #parts: Buffer[] = [];
  #length = 0;
  #oversized = false;
  #tail = '';
  #found: string | undefined;

  constructor(options: RecordOptions) {
    this.#options = options;
  }

  /** The records that end in this chunk. */
  *push(chunk: Buffer): Generator<Piece> {
    let from = 0;
    for (
      let at = chunk.indexOf(this.#options.separator);
      at !== -1;
      at = chunk.indexOf(this.#options.separator, from)
    ) {
      this.#take(chunk.subarray(from, at));
      yield this.#end();
      from = at + 1;
    }
    this.#take(chunk.subarray(from));
  }

  #take(part: Buffer): void {
    const room = this.#options.limit - this.#length;
    if (part.length > 0 && room > 0) this.#parts.push(Buffer.from(part.subarray(0, room)));
    this.#length += part.length;
    if (part.length > room) this.#drop(part.subarray(Math.max(0, room)));
  }

  #drop(part: Buffer): void {
    if (!this.#oversized) this.#tail = this.#parts.at(-1)?.subarray(-OVERLAP).toString('latin1') ?? '';
    this.#oversized = true;
    if (this.#options.watch === undefined || this.#found !== undefined) return;
    const text = this.#tail + part.toString('latin1');
    this.#found = this.#options.watch.exec(text)?.[1];
    this.#tail = text.slice(-OVERLAP);
  }

  #end(): Piece {
    const piece = { bytes: Buffer.concat(this.#parts), oversized: this.#oversized, found: this.#found };
    this.#parts = [];
    this.#length = 0;
    this.#oversized = false;
    this.#tail = '';
    this.#found = undefined;
    return piece;
  }
}
