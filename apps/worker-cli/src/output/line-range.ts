import { createHash } from 'node:crypto';

export interface RangeRead {
  readonly sha256: string;
  readonly size: number;
  readonly totalLines: number;
  /** Kept bytes of the range, at most the limit. */
  readonly bytes: Buffer;
  /** Bytes of the whole range. */
  readonly rangeBytes: number;
  readonly problem: 'binary' | 'invalid_utf8' | undefined;
}

const NEWLINE = 10;

/** Reads a file chunk by chunk: its hash, its number of lines, and a range of lines with a limit on what is kept. */
export class LineRange {
  readonly #hash = createHash('sha256');
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #kept: Buffer[] = [];
  readonly #first: number;
  readonly #last: number;
  readonly #limit: number;
  #line = 1;
  #size = 0;
  #keptBytes = 0;
  #rangeBytes = 0;
  #endsInLine = false;
  #problem: RangeRead['problem'];

  /** Lines count from 1; `last` is included. */
  constructor(first: number, last: number, limit: number) {
    this.#first = first;
    this.#last = last;
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    this.#hash.update(chunk);
    this.#size += chunk.length;
    this.#check(chunk);
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline === -1 ? chunk.length : newline + 1;
      if (this.#line >= this.#first && this.#line <= this.#last) this.#keep(chunk.subarray(at, end));
      if (newline !== -1) this.#line += 1;
      this.#endsInLine = newline === -1;
      at = end;
    }
  }

  finish(): RangeRead {
    this.#decode(undefined);
    return {
      sha256: this.#hash.digest('hex'),
      size: this.#size,
      totalLines: this.#line - 1 + (this.#endsInLine ? 1 : 0),
      bytes: Buffer.concat(this.#kept),
      rangeBytes: this.#rangeBytes,
      problem: this.#problem,
    };
  }

  #keep(part: Buffer): void {
    this.#rangeBytes += part.length;
    const room = this.#limit - this.#keptBytes;
    if (room <= 0) return;
    // A copy: the caller uses its buffer again.
    this.#kept.push(Buffer.from(part.subarray(0, room)));
    this.#keptBytes += Math.min(part.length, room);
  }

  #check(chunk: Buffer): void {
    if (this.#problem === undefined && chunk.includes(0)) this.#problem = 'binary';
    this.#decode(chunk);
  }

  #decode(chunk: Buffer | undefined): void {
    if (this.#problem !== undefined) return;
    try {
      this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      this.#problem = 'invalid_utf8';
    }
  }
}
