import { ESCAPE, MAX_SEQUENCE, stripCodes } from '../terminal-codes.ts';

/** Codes and escapes make text shorter or longer than its bytes: so many more are kept than are shown. */
const SPARE = 4;

/** The first and the last bytes of a stream, a bounded number of them. */
export class RawEnds {
  readonly #head: Buffer;
  readonly #ring: Buffer;
  #total = 0;

  constructor(headBytes: number, tailBytes: number) {
    this.#head = Buffer.alloc(SPARE * headBytes + MAX_SEQUENCE);
    this.#ring = Buffer.alloc(SPARE * tailBytes + 2 * MAX_SEQUENCE);
  }

  get total(): number {
    return this.#total;
  }

  push(bytes: Uint8Array): void {
    if (this.#total < this.#head.length)
      this.#head.set(bytes.subarray(0, this.#head.length - this.#total), this.#total);
    const size = this.#ring.length;
    const last = bytes.length > size ? bytes.subarray(bytes.length - size) : bytes;
    const at = (this.#total + bytes.length - last.length) % size;
    const first = Math.min(last.length, size - at);
    this.#ring.set(last.subarray(0, first), at);
    this.#ring.set(last.subarray(first), 0);
    this.#total += bytes.length;
  }

  /** The first bytes, up to `to`. */
  head(to: number): Buffer {
    return this.#head.subarray(0, Math.min(to, this.#total, this.#head.length));
  }

  /** Where the last bytes begin of which all is still there. */
  get #oldest(): number {
    return Math.max(0, this.#total - this.#ring.length);
  }

  #lastBytes(): Buffer {
    const size = this.#ring.length;
    if (this.#total <= size) return Buffer.from(this.#ring.subarray(0, this.#total));
    const at = this.#total % size;
    return Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
  }

  /** Everything, when nothing was lost. */
  all(): Buffer | undefined {
    if (this.#oldest > this.#head.length) return undefined;
    const head = this.head(this.#oldest);
    return Buffer.concat([head, this.#lastBytes()]);
  }

  /** The last bytes, from a place that is inside of no character and no escape sequence. */
  tail(): { readonly start: number; readonly bytes: Buffer } {
    const bytes = this.#lastBytes();
    const start = this.#oldest === 0 ? 0 : safeStart(bytes);
    return { start: this.#oldest + start, bytes: bytes.subarray(start) };
  }
}

/** Each sequence begins with an escape and is bounded: the last one before the place says whether it lies inside. */
const safeStart = (bytes: Buffer): number => {
  let at = Math.min(MAX_SEQUENCE, bytes.length);
  const begin = bytes.subarray(0, at).lastIndexOf(ESCAPE);
  if (begin >= 0) {
    const around = bytes.subarray(begin, begin + MAX_SEQUENCE + 1).toString('latin1');
    const rest = stripCodes(around);
    const length = rest.pieces[0]?.[1] ?? around.length;
    at = Math.max(at, begin + length);
  }
  for (let back = 0; back < 3 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80; back += 1) at += 1;
  return at;
};
