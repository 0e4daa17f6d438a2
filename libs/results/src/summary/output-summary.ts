import type { Truncation } from '@toolfabric/contract';
import { ESCAPE } from '../terminal-codes.ts';
import { isBinary, signatureOf } from './binary.ts';
import { type CleanText, cleanText } from './clean-text.ts';
import { headAtLine, tailAtLine } from './cut-text.ts';
import { KeyLines, type KeyMatch, type PlacedMatch } from './key-lines.ts';
import { RawEnds } from './raw-ends.ts';

export interface SummaryOptions {
  /** Bytes of text shown of the beginning and of the end. */
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Lines that stand out and are kept from between; 20 when left out, 0 for none. */
  readonly keyLines?: number;
  /** Bytes of text that those lines may take; a quarter of head and tail when left out. */
  readonly keyBytes?: number;
  /** Name of the stream in the truncation; `output` when left out. */
  readonly stream?: string;
}

export interface Summary {
  /** At most `headBytes + tailBytes + keyBytes` and 200 bytes of UTF-8. */
  readonly text: string;
  /** Bytes of the stream that the text stands for. */
  readonly kept: number;
  /** Bytes of the stream. */
  readonly total: number;
  readonly lines: number;
  /** It is no text: `text` says what it is instead. */
  readonly binary: boolean;
  /** What the first bytes of a binary stream say. */
  readonly mediaType?: string;
  readonly invalidUtf8: boolean;
  readonly ansiStripped: boolean;
  /** Lines that stand out, from between head and tail. */
  readonly keyMatches: readonly KeyMatch[];
  /** When something is not shown. */
  readonly truncation?: Truncation;
}

interface Shown {
  readonly text: string;
  readonly kept: number;
  readonly keyMatches: readonly KeyMatch[];
}

const number = (value: number): string => value.toLocaleString('en-US');

/**
 * Makes a bounded text out of a stream of any length: its head, its tail, and the lines that stand out between. What it
 * answers depends on the bytes alone and not on their chunks. Holds four times what it shows, and one window of lines.
 */
export class OutputSummary {
  readonly #options: Required<SummaryOptions>;
  readonly #ends: RawEnds;
  readonly #keyLines: KeyLines;
  #ansi = false;
  #lastByte = 10;

  constructor(options: SummaryOptions) {
    const { headBytes, tailBytes } = options;
    const keyBytes = Math.ceil((headBytes + tailBytes) / 4);
    this.#options = { keyLines: 20, keyBytes, stream: 'output', ...options };
    this.#ends = new RawEnds(headBytes, tailBytes);
    this.#keyLines = new KeyLines(this.#options.keyLines, headBytes, tailBytes);
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#ends.push(bytes);
    this.#keyLines.push(bytes);
    if (!this.#ansi) this.#ansi = bytes.includes(ESCAPE);
    this.#lastByte = bytes[bytes.length - 1] as number;
  }

  end(): Summary {
    this.#keyLines.end();
    const { total } = this.#ends;
    const binary = isBinary(this.#ends.head(total), this.#ends.tail().bytes);
    const shown = binary ? this.#binary() : this.#text();
    const mediaType = binary ? signatureOf(this.#ends.head(16)) : undefined;
    return {
      ...shown,
      total,
      lines: this.#keyLines.newlines + (this.#lastByte === 10 ? 0 : 1),
      binary,
      ...(mediaType === undefined ? {} : { mediaType }),
      invalidUtf8: this.#keyLines.invalidUtf8,
      ansiStripped: this.#ansi && !binary,
      ...(shown.kept < total
        ? { truncation: { stream: this.#options.stream, kept: shown.kept, total, unit: 'bytes' as const } }
        : {}),
    };
  }

  #binary(): Shown {
    const type = signatureOf(this.#ends.head(16));
    const text = `[${number(this.#ends.total)} bytes of binary data${type === undefined ? '' : `, ${type}`}]`;
    return { text, kept: 0, keyMatches: [] };
  }

  #text(): Shown {
    const { headBytes, tailBytes } = this.#options;
    const { total } = this.#ends;
    const all = this.#ends.all();
    if (all !== undefined) {
      const clean = cleanText(all);
      if (Buffer.byteLength(clean.text) <= headBytes + tailBytes)
        return { text: clean.text, kept: total, keyMatches: [] };
      return this.#cut(clean, clean, 0);
    }
    const tail = this.#ends.tail();
    return this.#cut(cleanText(this.#ends.head(total)), cleanText(tail.bytes), tail.start);
  }

  /** `tailAt`: where the bytes of `tail` begin in the stream. */
  #cut(head: CleanText, tail: CleanText, tailAt: number): Shown {
    const { headBytes, tailBytes, keyLines } = this.#options;
    const headEnd = headAtLine(head.text, headBytes);
    const tailFrom = tailAtLine(tail.text, tailBytes);
    const middle = head.offsets[headEnd] ?? 0;
    const end = Math.max(middle, tailAt + (tail.offsets[tailFrom] ?? 0));
    const keyMatches = this.#fitting(this.#keyLines.between(middle, end, keyLines));
    const gap = this.#gap(end - middle, keyMatches);
    const shownHead = head.text.slice(0, headEnd);
    const text = `${shownHead}${shownHead === '' || shownHead.endsWith('\n') ? '' : '\n'}${gap}${tail.text.slice(tailFrom)}`;
    return {
      text,
      kept: this.#ends.total - (end - middle),
      keyMatches: keyMatches.map(({ line, text: shown }) => ({ line, text: shown })),
    };
  }

  #fitting(matches: readonly PlacedMatch[]): PlacedMatch[] {
    let left = this.#options.keyBytes;
    return matches.filter(({ line, text }) => {
      left -= Buffer.byteLength(text) + String(line).length + 3;
      return left >= 0;
    });
  }

  #gap(bytes: number, matches: readonly KeyMatch[]): string {
    if (matches.length === 0) return `[… ${number(bytes)} bytes left out …]\n`;
    const lines = matches.map(({ line, text }) => `${line}: ${text}\n`).join('');
    return `[… ${number(bytes)} bytes left out; lines that stand out, with their numbers:]\n${lines}[… the end:]\n`;
  }
}
