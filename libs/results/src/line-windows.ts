/** Who reads the windows. Offsets are into `bytes`, which is only lent for the call. */
export interface WindowReader {
  /** Whole lines: `to` stands behind a newline, or at the end of the stream. */
  lines(bytes: Buffer, from: number, to: number): void;
  /**
   * A part of a line that is longer than a window. `[from, cut)` is to be read now; `[context, from)` and `[cut, end)`
   * are what stands around it. `cut` equals `end` at the end of the line. Answers where the next part begins: `cut`, or
   * a place after it that was read already.
   */
  part(bytes: Buffer, context: number, from: number, cut: number, end: number): number;
}

export interface WindowSizes {
  /** Bytes of a line up to which it is read as one. */
  readonly line: number;
  /** Bytes before and after a part of a longer line that its reader sees as well. */
  readonly before: number;
  readonly after: number;
}

const NEWLINE = 10;

/**
 * Cuts a stream of bytes into windows whose borders are decided by its content alone: the same stream in other chunks
 * gives the same windows, but for lines that come together or one by one. Holds `line + before + after` bytes and one
 * chunk at most.
 */
export class LineWindows {
  readonly #reader: WindowReader;
  readonly #sizes: WindowSizes;
  #held = Buffer.alloc(0);
  #length = 0;
  /** Where reading goes on in what is held; bytes before it are context. */
  #next = 0;
  /** Held bytes in which no newline stands, counted from `#next`. */
  #searched = 0;
  #inLine = false;

  constructor(reader: WindowReader, sizes: WindowSizes) {
    this.#reader = reader;
    this.#sizes = sizes;
  }

  push(bytes: Uint8Array): void {
    if (this.#length === 0) {
      const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      this.#hold(view, this.#read(view, 0, false));
      return;
    }
    this.#append(bytes);
    if (!this.#canRead()) return;
    const view = this.#held.subarray(0, this.#length);
    this.#hold(view, this.#read(view, this.#next, false));
  }

  end(): void {
    const view = this.#held.subarray(0, this.#length);
    this.#read(view, this.#next, true);
    this.#held = Buffer.alloc(0);
    this.#length = 0;
    this.#next = 0;
    this.#searched = 0;
    this.#inLine = false;
  }

  #canRead(): boolean {
    const { line, after } = this.#sizes;
    if (this.#length - this.#next >= line + after) return true;
    const found = this.#held.subarray(0, this.#length).indexOf(NEWLINE, this.#next + this.#searched);
    if (found < 0) this.#searched = this.#length - this.#next;
    return found >= 0;
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#held.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#held.length));
      this.#held.copy(grown, 0, 0, this.#length);
      this.#held = grown;
    }
    this.#held.set(bytes, this.#length);
    this.#length = needed;
  }

  /** Keeps what could not be read yet, with its context. */
  #hold(view: Buffer, next: number): void {
    const start = this.#inLine ? Math.max(0, next - this.#sizes.before) : next;
    const rest = view.subarray(start);
    if (rest.length > 0 || this.#held.length > 0) {
      if (rest.length > this.#held.length || this.#held.length > 4 * this.#sizes.line) this.#held = Buffer.from(rest);
      else rest.copy(this.#held, 0);
    }
    this.#length = rest.length;
    this.#next = next - start;
    this.#searched = 0;
  }

  #read(view: Buffer, start: number, atEnd: boolean): number {
    let next = start;
    while (next < view.length) {
      const reached = this.#inLine ? this.#readPart(view, next, atEnd) : this.#readLines(view, next, atEnd);
      if (reached === next) break;
      next = reached;
    }
    return next;
  }

  #readLines(view: Buffer, from: number, atEnd: boolean): number {
    const { line } = this.#sizes;
    const last = view.subarray(from, from + line).lastIndexOf(NEWLINE);
    if (last >= 0) {
      this.#reader.lines(view, from, from + last + 1);
      return from + last + 1;
    }
    if (view.length - from <= line) {
      if (!atEnd) return from;
      this.#reader.lines(view, from, view.length);
      return view.length;
    }
    return this.#readPart(view, from, atEnd);
  }

  #readPart(view: Buffer, from: number, atEnd: boolean): number {
    const { line, before, after } = this.#sizes;
    const newline = view.subarray(from, from + line + after).indexOf(NEWLINE);
    const isWhole = newline >= 0 || atEnd;
    if (!isWhole && view.length - from < line + after) return from;
    const end = newline >= 0 ? from + newline + 1 : Math.min(view.length, from + line + after);
    const endsLine = newline >= 0 || (atEnd && end === view.length);
    const cut = endsLine && end - from <= line ? end : from + line;
    const context = this.#inLine ? Math.max(0, from - before) : from;
    const next = Math.max(cut, this.#reader.part(view, context, from, cut, end));
    this.#inLine = !(next === end && endsLine);
    return next;
  }
}
