/** Bytes of one request. */
export interface Batch {
  readonly bytes: Uint8Array;
  /** Bytes of the stream behind them that are not kept. */
  readonly skip: number;
}

interface Segment {
  chunks: Uint8Array[];
  skip: number;
}

/** What is still to be sent of a stream, in its order: runs of bytes, each with a gap behind it. */
export class LogQueue {
  #segments: Segment[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  clear(): void {
    this.#segments = [];
    this.#bytes = 0;
  }

  push(bytes: Uint8Array): void {
    const last = this.#segments.at(-1);
    if (last && last.skip === 0) last.chunks.push(bytes);
    else this.#segments.push({ chunks: [bytes], skip: 0 });
    this.#bytes += bytes.byteLength;
  }

  skip(bytes: number): void {
    const last = this.#segments.at(-1);
    if (last) last.skip += bytes;
    else this.#segments.push({ chunks: [], skip: bytes });
  }

  /** The first bytes, at most `most`; they stay until `confirm`. */
  peek(most: number): Batch {
    const first = this.#segments[0];
    if (!first) return { bytes: new Uint8Array(), skip: 0 };
    const taken: Uint8Array[] = [];
    let size = 0;
    for (const chunk of first.chunks) {
      const part = chunk.subarray(0, most - size);
      taken.push(part);
      size += part.byteLength;
      if (size >= most) break;
    }
    const isAll = size === sizeOf(first);
    return { bytes: Buffer.concat(taken), skip: isAll ? first.skip : 0 };
  }

  /** Forgets a batch that was peeked; what was pushed or skipped since then stays. */
  confirm({ bytes, skip }: Batch): void {
    const first = this.#segments[0];
    if (!first) return;
    let rest = bytes.byteLength;
    this.#bytes -= rest;
    first.chunks = first.chunks.flatMap((chunk) => {
      const gone = Math.min(rest, chunk.byteLength);
      rest -= gone;
      return gone === chunk.byteLength ? [] : [chunk.subarray(gone)];
    });
    first.skip -= skip;
    if (first.chunks.length === 0 && first.skip === 0) this.#segments.shift();
  }
}

const sizeOf = ({ chunks }: Segment): number => chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
