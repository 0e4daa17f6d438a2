import { stripCodes } from '../terminal-codes.ts';
import type { Detector } from './span.ts';

const LABEL = '(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?';
/** What every key begins with, but for the hyphens before: those are frequent, and a search for them is slow. */
export const BEGIN_HINT = 'BEGIN ';
const BEGIN = new RegExp(`-----BEGIN ${LABEL}-----`, 'g');
const END = new RegExp(`-----END ${LABEL}-----`);
const ONE_LINE_BODY = /^(?:[A-Za-z0-9+/=: ,.()-]|\\+[nrt"])*/;
const OPENED = new RegExp(`-----BEGIN ${LABEL}-----(?:[\\s"'\`,;+]|\\\\[nr])*$`);
/** A key of 16384 bits takes 13 KB. */
const MAX_BODY = 16_000;
/** What tools put before the lines of a file: quotes, signs of a diff, line numbers, names. */
const DECORATION = /^[\s>|+#*"'`-]*(?:[^\s:]{1,200}[:-]\d{1,7}[:-]|\d{1,7}[:\t|])?[\s>|+#*"'`-]*/;
const BODY = /^([A-Za-z0-9+/]{1,1000}={0,2})(?:[\s"'`,;+]|\\[nr])*$/;
const HEADER =
  /^(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Encryption|Public-Lines|Private-Lines): ?[\x20-\x7e]{0,200}\s*$/;
const MIN_FIRST = 32;

/** A whole key, or a key that was cut off, on one line: as JSON and environment values hold it. */
export const findKeysOfOneLine: Detector = (window, found) => {
  if (window.bytes.indexOf(BEGIN_HINT) < 0) return;
  const { text } = window;
  for (const begin of text.matchAll(BEGIN)) {
    const behind = begin.index + begin[0].length;
    const following = text.indexOf(`-----${BEGIN_HINT}`, behind);
    const body = text.slice(behind, Math.min(following < 0 ? text.length : following, behind + MAX_BODY));
    const match = ONE_LINE_BODY.exec(body)?.[0] ?? '';
    const end = END.exec(match);
    const inside = end === null ? match : match.slice(0, end.index);
    const solid = inside.replace(/\\+[nrt"]|[^A-Za-z0-9+/]/g, '');
    if (solid.length < MIN_FIRST || (end === null && !/[A-Za-z0-9+/]{32}/.test(inside))) continue;
    const length = end === null ? inside.trimEnd().length : end.index + end[0].length;
    found.push({ start: begin.index, end: behind + length, kind: 'private-key', value: solid });
  }
};

/** Where a line opens a key whose body stands on the lines after it; -1 when it does not. */
export const openingOf = (line: string): number => {
  if (!line.includes('PRIVATE KEY')) return -1;
  const bare = line.includes('\x1b') ? stripCodes(line).text : line;
  return OPENED.test(bare) ? line.indexOf(`-----${BEGIN_HINT}`) : -1;
};

export type KeyLine =
  | { readonly type: 'body'; readonly body: string }
  | { readonly type: 'blank' }
  /** `length`: bytes of the line up to the end of the closing words. */
  | { readonly type: 'end'; readonly length: number }
  | { readonly type: 'other' };

/** What a line is to a key that is open. */
export const judgeKeyLine = (line: string, isFirst: boolean): KeyLine => {
  if (line.length > MAX_BODY) return { type: 'other' };
  const end = END.exec(line);
  if (end !== null) return { type: 'end', length: end.index + end[0].length };
  const bare = (line.includes('\x1b') ? stripCodes(line).text : line).replace(DECORATION, '');
  if (bare.trim() === '' || bare.trim() === '\\n') return { type: 'blank' };
  if (HEADER.test(bare)) return { type: 'body', body: '' };
  const body = BODY.exec(bare)?.[1];
  if (body === undefined || (isFirst && body.length < MIN_FIRST)) return { type: 'other' };
  return { type: 'body', body };
};
