import { GramFilter } from '../gram-filter.ts';
import { LineWindows } from '../line-windows.ts';
import { cleanText } from './clean-text.ts';
import { countNewlines } from './count-newlines.ts';
import { headUnits } from './cut-text.ts';
import { Utf8Check } from './utf8-check.ts';

/** A line that stands out. */
export interface KeyMatch {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** With where the line begins in the stream. */
export interface PlacedMatch extends KeyMatch {
  readonly offset: number;
}

/** A finding as it is kept: its text is made when it is shown, which few are. */
interface Finding {
  readonly line: number;
  readonly offset: number;
  readonly raw: RawLine;
}

interface RawLine {
  readonly bytes: Uint8Array;
  /** Whether the bytes begin with the line, and end with it. */
  readonly hasStart: boolean;
  readonly hasEnd: boolean;
}

const WORD =
  /(?:errors?|fail(?:s|ed|ure|ures|ing)?|panic(?:ked)?|fatal|exception|traceback|assert(?:ion)?|cannot|denied|killed|aborted|segmentation fault|undefined reference|not ok|timed out|unhandled|out of memory)\b/iy;
const FILTER_WORDS = [
  ...['error', 'fail', 'panic', 'fatal', 'exception', 'traceback', 'assert', 'cannot', 'denied', 'killed', 'aborted'],
  ...['segmentation', 'undefined r', 'not ok', 'timed out', 'unhandled', 'out of memory'],
];
/** `0 failed`, `no errors`: what stands before the word, and the longest of it with the character before. */
const HARMLESS_BEFORE = /\b(?:0|no|without|zero) $/i;
const LONGEST_HARMLESS = 9;
const BLANK = 32;
/** Names that go on. */
const GOES_ON = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/.$-')
  GOES_ON[character.charCodeAt(0)] = 1;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with the escape character.
const COLOUR = /\x1b\[[0-9;]*m/g;
/** Exceptions are named in one word: `TypeError`, `NullPointerException`. */
const NAMED = /[a-z](?:Error|Exception|Failure)$/;

/** Ends of names of files that programs name with a line. */
const SUFFIXES = 'c cc cpp cs go h hpp java js jsx kt mjs php pl py rb rs scala sh swift ts tsx vue'.split(' ');
const DIGITS = '0123456789'.split('');
const PLACE_FILTER = SUFFIXES.flatMap((suffix) => DIGITS.map((digit) => `${`.${suffix}`.slice(-2)}:${digit}`));
const SUFFIX = new RegExp(`[\\w)\\]]\\.(?:${SUFFIXES.join('|')})$`);

const FILTER = new GramFilter([...FILTER_WORDS, ...PLACE_FILTER]);
const MAX_SHOWN = 300;
const MAX_LINE = 1024;
const SIZES = { line: 65_536, before: 512, after: 1024 };

type Found = 'word' | 'place' | undefined;

/** A colour is no part of a word. */
const shownBefore = (text: string, at: number): string => {
  const before = text.slice(Math.max(0, at - 24), at);
  return before.includes('\x1b') ? before.replace(COLOUR, '') : before;
};

const isHarmless = (text: string, at: number, end: number): boolean => {
  const before = shownBefore(text, at);
  const last = before.charCodeAt(before.length - 1);
  if (last === BLANK) return HARMLESS_BEFORE.test(before.slice(-LONGEST_HARMLESS));
  return GOES_ON[last] === 1 && !NAMED.test(before.slice(-1) + text.slice(at, end));
};

const judge = (text: string, at: number): Found => {
  WORD.lastIndex = at;
  if (WORD.test(text)) return isHarmless(text, at, WORD.lastIndex) ? undefined : 'word';
  const isNumbered = text.charAt(at + 2) === ':' && /\d/.test(text.charAt(at + 3));
  return isNumbered && SUFFIX.test(text.slice(Math.max(0, at - 8), at + 2)) ? 'place' : undefined;
};

/** How often head and tail may be longer in the stream than as text. */
const BANDS = 5;

/**
 * The first lines that were found and the last ones, a bounded number. Where head ends and tail begins is known at the
 * end only: so some are kept of each stretch in which the head may end, and thinned out ones of where the tail may begin.
 */
class Ends {
  readonly #most: number;
  readonly #headBytes: number;
  readonly #gap: number;
  readonly #first: Finding[][] = Array.from({ length: BANDS }, () => []);
  #last: Finding[] = [];
  /** The line of what was added last. */
  lastLine = -1;

  constructor(most: number, headBytes: number, tailBytes: number) {
    this.#most = most;
    this.#headBytes = Math.max(1, headBytes);
    this.#gap = tailBytes / Math.max(1, most);
  }

  wants(offset: number): boolean {
    const first = this.#bandOf(offset);
    if (first !== undefined && first.length < this.#most) return true;
    const last = this.#last.at(-1);
    return this.#most > 0 && (last === undefined || offset - last.offset >= this.#gap);
  }

  add(match: Finding): void {
    this.lastLine = match.line;
    const first = this.#bandOf(match.offset);
    if (first !== undefined && first.length < this.#most) first.push(match);
    else this.#last.push(match);
    if (this.#last.length > 16 * this.#most) this.#last = this.#last.slice(-8 * this.#most);
  }

  pick(from: number, to: number, count: number): PlacedMatch[] {
    const inside = ({ offset }: Finding): boolean => offset >= from && offset < to;
    const first = this.#first.flat().filter(inside);
    const last = this.#last.filter(inside);
    const lastCount = Math.min(last.length, Math.max(Math.floor(count / 3), count - first.length));
    const picked = [...first.slice(0, count - lastCount), ...(lastCount === 0 ? [] : last.slice(-lastCount))];
    return picked.map(({ line, offset, raw }) => ({ line, offset, text: shownLine(raw) }));
  }

  /** A quarter of the head's size, then twice as far each. */
  #bandOf(offset: number): Finding[] | undefined {
    const band = Math.floor(Math.log2(offset / this.#headBytes)) + 2;
    return this.#first[Math.min(band, BANDS - 1)];
  }
}

/** Reads a stream for the lines that stand out, counts its lines, and says whether it is UTF-8. Its memory is bounded. */
export class KeyLines {
  readonly #words: Ends;
  readonly #places: Ends;
  readonly #windows: LineWindows;
  readonly #utf8 = new Utf8Check();
  #newlines = 0;
  /** Bytes of the stream before the window that is read. */
  #base = 0;

  constructor(most: number, headBytes: number, tailBytes: number) {
    this.#words = new Ends(most, headBytes, tailBytes);
    this.#places = new Ends(Math.ceil(most / 2), headBytes, tailBytes);
    this.#windows = new LineWindows(
      {
        lines: (bytes, from, to) => this.#read(bytes, from, from, to, to),
        part: (bytes, context, from, cut, end) => {
          this.#read(bytes, context, from, cut, end);
          return cut;
        },
      },
      SIZES,
    );
  }

  push(bytes: Uint8Array): void {
    this.#windows.push(bytes);
  }

  end(): void {
    this.#windows.end();
    this.#utf8.end();
  }

  get newlines(): number {
    return this.#newlines;
  }

  get invalidUtf8(): boolean {
    return this.#utf8.isInvalid;
  }

  /** Those that begin in `[from, to)`, in order: words before places, the first and the last of each. */
  between(from: number, to: number, most: number): PlacedMatch[] {
    const words = this.#words.pick(from, to, most);
    const known = new Set(words.map(({ line }) => line));
    const places = this.#places
      .pick(from, to, Math.min(most - words.length, Math.ceil(most / 2)))
      .filter(({ line }) => !known.has(line));
    return [...words, ...places].sort((a, b) => a.offset - b.offset);
  }

  #read(bytes: Buffer, context: number, from: number, to: number, end: number): void {
    this.#utf8.push(bytes.subarray(from, to));
    let text: string | undefined;
    let counted = from;
    let position = from;
    while (position < to) {
      const place = FILTER.next(bytes, position, Math.min(end, to + 16));
      if (place >= to) break;
      text ??= bytes.toString('latin1', context, end);
      const found = judge(text, place - context);
      position = place + 1;
      if (found === undefined) continue;
      const start = Math.max(context, bytes.subarray(context, place).lastIndexOf(10) + 1 + context);
      const newline = bytes.subarray(place, end).indexOf(10);
      const stop = newline < 0 ? end : place + newline;
      this.#newlines += countNewlines(bytes, counted, Math.max(counted, start));
      counted = Math.max(counted, start);
      // Of a line that is longer than a window, each window may show one place.
      const isPart = start < from || newline < 0;
      const offset = this.#base + (isPart ? place : start) - from;
      this.#note(found, offset, isPart, () => rawLine(bytes, start, place, stop));
      // One word a line is enough; a place does not hide a word after it.
      if (found === 'word') position = Math.max(position, stop);
    }
    this.#newlines += countNewlines(bytes, counted, to);
    this.#base += to - from;
  }

  #note(found: 'word' | 'place', offset: number, isPart: boolean, read: () => RawLine): void {
    const line = this.#newlines + 1;
    const ends = found === 'word' ? this.#words : this.#places;
    if ((isPart || ends.lastLine !== line) && ends.wants(offset)) ends.add({ line, offset, raw: read() });
  }
}

/** The line, or what stands around the finding in a long one. */
const rawLine = (bytes: Buffer, start: number, place: number, stop: number): RawLine => {
  const from = place - start > 200 ? place - 100 : start;
  const to = Math.min(stop, from + MAX_LINE);
  return { bytes: Uint8Array.prototype.slice.call(bytes, from, to), hasStart: from === start, hasEnd: to === stop };
};

const shownLine = ({ bytes, hasStart, hasEnd }: RawLine): string => {
  const { text } = cleanText(bytes);
  const cut = headUnits(text, MAX_SHOWN);
  const isWhole = hasEnd && cut === text.length;
  return `${hasStart ? '' : '… '}${text.slice(0, cut).trimEnd()}${isWhole ? '' : ' …'}`;
};
