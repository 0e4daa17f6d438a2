import { sourceOffset, stripCodes } from '../terminal-codes.ts';

/** Text that is safe to show, and where each of its pieces came from. */
export interface CleanText {
  readonly text: string;
  /** By unit of `text`: the offset of its first byte in the source. One more at the end: the length of the source. */
  readonly offsets: Uint32Array;
}

/**
 * What a reader would not see, or would see in another order: control characters but tab and newline, C1, signs of
 * direction, line and paragraph separators, tags, and signs of no width that join nothing.
 */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that it is about.
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

const escaped = (character: string): string => {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\r') return '\\r';
  if (code < 256) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
};

/** Hidden and control characters in the form `\x07`, line ends as newlines. */
export const showHidden = (text: string): string => text.replaceAll('\r\n', '\n').replace(HIDDEN, escaped);

const utf8Length = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

/** Bytes that the decoder turned into one U+FFFD: those of one broken sequence. */
const brokenLength = (bytes: Uint8Array, at: number): number => {
  const lead = bytes[at] ?? 0;
  const most = lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc2 ? 1 : 0;
  const second = bytes[at + 1] ?? 0;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (most === 0 || lead > 0xf4 || second < low || second > high) return 1;
  let length = 2;
  while (length < most && ((bytes[at + length] ?? 0) & 0xc0) === 0x80) length += 1;
  return length;
};

const isReplacement = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0xef && bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd;

/**
 * Bytes of a program as text: escape sequences taken out, invalid UTF-8 as U+FFFD, hidden characters escaped. The first
 * byte is not inside of a character or an escape sequence.
 */
export const cleanText = (source: Uint8Array): CleanText => {
  const view = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const stripped = stripCodes(view.toString('latin1'));
  const bytes = Buffer.from(stripped.text, 'latin1');
  const parts: string[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const character of bytes.toString('utf8')) {
    const code = character.codePointAt(0) ?? 0;
    const length = code === 0xfffd && !isReplacement(bytes, at) ? brokenLength(bytes, at) : utf8Length(code);
    const isLineEnd = character === '\r' && bytes[at + 1] === 10;
    const isPlain = code >= 0x20 && code < 0x7f;
    const shown = isPlain ? character : isLineEnd ? '' : character.replace(HIDDEN, escaped);
    const offset = sourceOffset(stripped, at);
    for (let unit = 0; unit < shown.length; unit += 1) offsets.push(offset);
    parts.push(shown);
    at += length;
  }
  offsets.push(source.length);
  return { text: parts.join(''), offsets: Uint32Array.from(offsets) };
};
