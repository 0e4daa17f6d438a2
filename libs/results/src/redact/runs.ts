import { isEncodedData, looksRandom } from './random-text.ts';
import type { Detector, Span, Window } from './span.ts';
import { beginsWithEscape, canBeginKey, findVendorKeys } from './vendor-keys.ts';

const MIN_RUN = 20;
const DOT = 46;
const UNDERSCORE = 95;
const HYPHEN = 45;
/** Letters, digits and `_ - + / =`: what keys, tokens and base64 are made of. */
const CLASS = new Uint8Array(256);
/** Small letters, capitals and digits, each counted in ten bits of its own. */
const COUNT = new Int32Array(256);
for (const [characters, one] of [
  ['abcdefghijklmnopqrstuvwxyz', 1],
  ['ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1 << 10],
  ['0123456789', 1 << 20],
  ['_-+/=', 0],
] as const)
  for (const character of characters) {
    CLASS[character.charCodeAt(0)] = 1;
    COUNT[character.charCodeAt(0)] = one;
  }

/** Widths at which PEM, MIME and OpenSSH wrap base64. A line of just that width is part of a block and no token. */
const WRAPPED = /^[ \t]*[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6}(?:[A-Za-z0-9+/]{6})?)?\r?$/;
const BASE64_LINE = /^[ \t]*[A-Za-z0-9+/]+={0,2}\r?$/;
/** What stands before a digest that names its algorithm, a fingerprint, or data in a URL. */
const DIGEST_BEFORE =
  /(?:sha\d{1,3}|md5|h1|blake\w{1,3}|checksum|integrity|etag|digest|base64)["']?[-:=, ]{1,2}["']?$/i;
const DIGEST_PART = /^(?:sha\d{1,3}|md5|h1)[-=]/i;

export const isWrappedLine = (line: string): boolean => line.length <= 96 && WRAPPED.test(line);

const MAX_LINE = 200;

/** Where the line of this place begins; -1 when that is further away than a line of wrapped base64 is long. */
const lineStart = (text: string, at: number): number => {
  const from = Math.max(0, at - MAX_LINE);
  const newline = text.slice(from, at).lastIndexOf('\n');
  return newline >= 0 ? from + newline + 1 : from === 0 ? 0 : -1;
};

const isInWrappedBlock = ({ text, afterWrapped }: Window, at: number): boolean => {
  const start = lineStart(text, at);
  const newline = text.indexOf('\n', at);
  const line = start < 0 ? '' : text.slice(start, newline < 0 ? text.length : newline);
  if (line.length === 0 || line.length > MAX_LINE || !BASE64_LINE.test(line)) return false;
  if (isWrappedLine(line)) return true;
  if (start === 0) return afterWrapped;
  const previous = lineStart(text, start - 1);
  return previous >= 0 && isWrappedLine(text.slice(previous, start - 1));
};

const findRandom = (window: Window, start: number, end: number, found: Span[]): void => {
  const { text } = window;
  const isDigestAt = (from: number, to: number): boolean =>
    DIGEST_PART.test(text.slice(from, to)) || DIGEST_BEFORE.test(text.slice(Math.max(0, from - 16), from));
  const mark = (from: number, to: number): void => {
    if (!isInWrappedBlock(window, from)) found.push({ start: from, end: to, kind: 'entropy' });
  };
  const judge = (from: number, to: number): void => {
    if (to - from < MIN_RANDOM) return;
    const piece = text.slice(from, to);
    if (looksRandom(piece)) return isDigestAt(from, to) ? undefined : mark(from, to);
    if (isEncodedData(piece)) return;
    // A path may lead to a random name, and a name may end in one.
    let at = from;
    for (const part of piece.split(/[/_]/)) {
      if (part.length < piece.length && looksRandom(part) && !isDigestAt(from, to)) mark(at, at + part.length);
      at += part.length + 1;
    }
  };
  let from = start;
  for (let at = start; at < end; at += 1) {
    const isPadding = text.charCodeAt(at) === 61 && (at + 1 === end || text.charCodeAt(at + 1) === 61);
    if (text.charCodeAt(at) !== 61 || isPadding) continue;
    judge(from, at);
    from = at + 1;
  }
  judge(from, end);
};

const MAX_RUN = 600;
const MIN_RANDOM = 30;
/** Fewer small letters, capitals or digits make no random text. */
const MIN_EACH = 2;

/** `sha512-…`, as lock files have them by the thousand. */
const isDigest = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 115 && bytes[at + 1] === 104 && bytes[at + 2] === 97 && (bytes[at + 6] === 45 || bytes[at + 4] === 45);

/** A whole line of wrapped base64, as output that is encoded has them by the thousand. */
const isWrapped = (bytes: Uint8Array, start: number, end: number): boolean => {
  const length = end - start;
  if (length !== 64 && length !== 70 && length !== 76) return false;
  const isLine =
    (start === 0 || bytes[start - 1] === 10) && (end === bytes.length || bytes[end] === 10 || bytes[end] === 13);
  return isLine && !bytes.subarray(start, end).includes(UNDERSCORE) && !bytes.subarray(start, end).includes(HYPHEN);
};

/** Keys have digits or many capitals; names and paths that do not are most of what is seen. */
const judgeRun = (window: Window, start: number, end: number, found: Span[]): void => {
  const { bytes } = window;
  const last = Math.min(end, start + MAX_RUN);
  let counts = 0;
  // `SG.` and the like stand before the run.
  let mayHoldKey =
    bytes[start - 1] === DOT || beginsWithEscape(bytes, start) || canBeginKey(bytes, start) || end > last;
  for (let at = start; at < last; at += 1) {
    const one = COUNT[bytes[at] as number] as number;
    counts += one;
    if (one === 0 && canBeginKey(bytes, at + 1)) mayHoldKey = true;
  }
  const small = counts & 1023;
  const capital = (counts >> 10) & 1023;
  const digits = counts >> 20;
  if (digits === 0 && capital < 4) return;
  if (mayHoldKey && findVendorKeys(window, start, end, found)) return;
  // Longer than any token: encoded data.
  if (end - start < MIN_RANDOM || end - start > MAX_RUN) return;
  if (isDigest(bytes, start) || isWrapped(bytes, start, end)) return;
  if (small >= MIN_EACH && capital >= MIN_EACH && digits >= MIN_EACH) findRandom(window, start, end, found);
};

/** Vendor keys and random text, in runs of 20 characters or more: only every twentieth byte is looked at elsewhere. */
export const findInRuns: Detector = (window, found) => {
  const { bytes } = window;
  const length = bytes.length;
  let at = MIN_RUN - 1;
  while (at < length) {
    let start = at;
    const lowest = at - MIN_RUN;
    while (start > lowest && CLASS[bytes[start] as number] !== 0) start -= 1;
    if (start > lowest) {
      at = start + MIN_RUN;
      continue;
    }
    let end = at + 1;
    while (end < length && CLASS[bytes[end] as number] !== 0) end += 1;
    judgeRun(window, start + 1, end, found);
    at = end + MIN_RUN;
  }
};
