import { GramFilter } from '../gram-filter.ts';
import { type Assignment, isSecretValue } from './assigned-value.ts';
import type { SecretKind } from './mark.ts';
import { MAX_WORDS, wordShare } from './random-text.ts';
import { secretKindOf } from './sensitive-name.ts';
import type { Detector, Span } from './span.ts';

const FILTER = new GramFilter([
  ...['passw', 'passp', 'passc', '_pass', '-pass', 'secret', 'token', 'cookie', 'creden', 'bearer', 'basic '],
  ...['pwd=', 'pwd:', 'pwd ', 'pwd"', "pwd'", 'pwd<', 'pwd>', 'pwd\\', 'pwd&', 'pwd_', 'pwd-'],
  ...['_key', '-key', 'key=', 'key:', 'key ', 'key"', "key'", 'key>', 'key\\', 'key&', 'key_', 'key-', 'key]'],
  ...['authori', '_auth', '-auth', 'auth=', 'auth:', 'auth ', 'auth"', "auth'", 'auth\\', 'auth&'],
  ...['sessionid', 'session_id', 'session-id', 'sessid', 'connect.sid', 'sig=', 'z-signature', 'g-signature'],
  'identified by',
]);
const WORD =
  /passw(?:or)?d|passphrase|passcode|secret|token|[_-]?key|[_-]?auth|cookie|credential|bearer|basic|[zg]-signature|sess(?:ion)?[_-]?id|connect\.sid|identified by|pwd|sig(?==)|[_-]pass/iy;
const IS_NAME = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$')
  IS_NAME[character.charCodeAt(0)] = 1;
const MAX_NAME = 64;
/** Characters of a value that are looked at to judge it. */
const MAX_JUDGED = 1_024;
/** `n`, `r` and `t`. */
const ESCAPED: readonly number[] = [110, 114, 116];

/** Behind a name: its closing quote, an operator, and the opening quote of the value. Quotes may be escaped. */
const OPERATOR = /(\\*["'`]|&quot;|\])?([ \t]{0,16})(:=|=>|={1,3}|:|>|)([ \t]{0,16})(\\*["'`]|&quot;)?/y;
const SCHEME = /(?:bearer|basic|token|digest|negotiate|apikey|api-key|bot|splunk|key|aws4-hmac-sha256)[ \t]+/iy;
const UNQUOTED = /[^\s"'`,;&<>)\]}\\]+/y;
const COOKIE_PAIR = /[ \t]*([^=;,\s"'\\]{1,256})=("?)([^;\s"'\\,]{1,4096})"?;?/y;
const BARE_CREDENTIAL = /[ \t]+([\w.~+/=-]{16,})/y;
const PLAIN_ATTRIBUTE = /^(?:path|domain|expires|max-age|samesite|priority|version)$/i;

const at = (pattern: RegExp, text: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index;
  return pattern.exec(text);
};

const lineEnd = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : text.charCodeAt(end - 1) === 13 && end > from ? end - 1 : end;
};

const closingQuote = (text: string, from: number, quote: string): number => {
  const line = text.slice(from, lineEnd(text, from));
  const isPlain = quote.length === 1;
  for (let found = line.indexOf(quote); found >= 0; found = line.indexOf(quote, found + 1)) {
    let escapes = 0;
    while (isPlain && line.charCodeAt(found - 1 - escapes) === 92) escapes += 1;
    if (escapes % 2 === 0) return from + found;
  }
  return -1;
};

const beginsLine = (text: string, start: number): boolean => {
  const near = text.slice(Math.max(0, start - 64), start);
  const before = near.slice(near.lastIndexOf('\n') + 1);
  return before.length < 64 && /^[\s+>#-]*(?:export |set |"|')?$/.test(before);
};

/**
 * What is known of the text before: names may stand in the values of others by the thousand, and each part of a line is
 * read once for all of them, so that the time stays in proportion to the length.
 */
interface Progress {
  /** The end of the line, and of the text without blanks and quotes, that was looked up last. */
  line: number;
  run: number;
  /** Cookies were read, and a value was found, up to here. */
  cookies: number;
  covered: number;
}

const lineEndOf = (text: string, from: number, progress: Progress): number => {
  if (from > progress.line) progress.line = lineEnd(text, from);
  return progress.line;
};

const runEndOf = (text: string, from: number, progress: Progress): number => {
  if (from >= progress.run) progress.run = from + (at(UNQUOTED, text, from)?.[0].length ?? 0);
  return progress.run;
};

/**
 * Each value of a cookie header; its attributes stay. Answers how far it read. What was read up to `known` is read the
 * same from the second value on.
 */
const findCookies = (text: string, from: number, end: number, known: number, found: Span[]): number => {
  let position = from;
  for (
    let pair = at(COOKIE_PAIR, text, position);
    pair !== null && position < end;
    pair = at(COOKIE_PAIR, text, position)
  ) {
    const [whole, name = '', quote = '', value = ''] = pair;
    const start = position + whole.indexOf('=') + 1 + quote.length;
    if (!PLAIN_ATTRIBUTE.test(name) && value.length > 2 && !value.startsWith('['))
      found.push({ start, end: start + value.length, kind: 'cookie' });
    position += whole.length;
    const attribute = /[ \t]*(?:HttpOnly|Secure|Partitioned);?/iy;
    for (let flag = at(attribute, text, position); flag !== null; flag = at(attribute, text, position))
      position += flag[0].length;
    if (position <= known) return known;
  }
  return position;
};

const findCredentials = (text: string, from: number, end: number, isQuoted: boolean, found: Span[]): void => {
  const scheme = at(SCHEME, text, from);
  const start = scheme === null ? from : from + scheme[0].length;
  if (scheme === null && !isQuoted) {
    const value = at(UNQUOTED, text, start)?.[0] ?? '';
    if (
      value.length >= 8 &&
      /\d|=$/.test(value) &&
      !/[(){}[\]?]|^\$|^[\w$]+\.[\w$.]+$/.test(value) &&
      wordShare(value) <= MAX_WORDS
    )
      found.push({ start, end: Math.min(end, start + value.length), kind: 'authorization' });
    return;
  }
  // Schemes with parameters, such as AWS's, take the rest of the line; the others take one word.
  const word = at(/[^\s"'`\\]+/y, text, start)?.[0] ?? '';
  const stop = /^(?:digest|aws4)/i.test(scheme?.[0] ?? '') ? end : Math.min(end, start + word.length);
  const value = text.slice(start, stop);
  const isBasic = /^basic/i.test(scheme?.[0] ?? '');
  // `Bearer token` is a word about tokens.
  const isWord = !isBasic && value.length < 16 && /^[A-Za-z]+$/.test(value);
  if (value.length < 4 || isWord || /^[<${[%(*]/.test(value)) return;
  if (scheme === null && /[ (]/.test(text.slice(start, end))) return;
  found.push({ start, end: stop, kind: 'authorization' });
};

/** `Bearer …` and `Basic …` without a header before. */
const findBareCredentials = (text: string, word: string, behind: number, found: Span[]): void => {
  const match = at(BARE_CREDENTIAL, text, behind);
  if (match === null) return;
  const value = match[1] ?? '';
  const isBasic = word === 'basic';
  const isSecret = isBasic
    ? /^[\x20-\x7e]+:[\x20-\x7e]*$/.test(Buffer.from(value, 'base64').toString('latin1'))
    : /\d/.test(value);
  const end = behind + match[0].length;
  if (isSecret) found.push({ start: end - value.length, end, kind: 'authorization' });
};

interface Name {
  readonly start: number;
  readonly end: number;
}

const nameAround = (bytes: Uint8Array, word: number, length: number): Name => {
  let start = word;
  while (start > 0 && word - start < MAX_NAME && IS_NAME[bytes[start - 1] as number] === 1) start -= 1;
  // The letter of `\n` is no part of a name.
  if (start < word && bytes[start - 1] === 92 && ESCAPED.includes(bytes[start] as number)) start += 1;
  let end = word + length;
  while (end < bytes.length && end - word < 2 * MAX_NAME && IS_NAME[bytes[end] as number] === 1) end += 1;
  return { start, end };
};

const findValue = (text: string, name: Name, kind: SecretKind, progress: Progress, found: Span[]): void => {
  const raw = text.slice(name.start, name.end);
  const match = at(OPERATOR, text, name.end);
  if (match === null) return;
  const [whole, closing = '', before = '', sign = '', after = '', quote = ''] = match;
  const isOption = /^--?\w/.test(raw) && sign === '' && before !== '';
  const isSql =
    /identified by$/i.test(raw) &&
    sign === '' &&
    (quote === "'" || quote === '"') &&
    (/BY$/.test(raw) || /\d/.test(text.slice(name.end, name.end + 24)));
  if (sign === '' && !isOption && !isSql) return;
  // `arn:aws:secretsmanager:…:secret:name`
  if (sign === ':' && after === '' && closing === '' && text.charAt(name.start - 1) === ':') return;
  const start = name.end + whole.length;
  const end = quote === '' ? lineEndOf(text, start, progress) : closingQuote(text, start, quote);
  const to = end < 0 ? lineEnd(text, start) : end;
  if (kind === 'cookie' && (sign === ':' || quote !== '') && text.slice(start, to).includes('=')) {
    progress.cookies = findCookies(text, start, to, progress.cookies, found);
    return;
  }
  if (kind === 'authorization') return findCredentials(text, start, to, quote !== '', found);
  const stop = quote === '' ? runEndOf(text, start, progress) : to;
  if (stop <= progress.covered) return;
  const assignment: Assignment = {
    kind,
    name: raw.replace(/^-+/, ''),
    operator: sign === '' ? ' ' : sign === '>' ? '>' : sign === ':' ? ':' : '=',
    isSpaced: before !== '' || after !== '',
    quote,
    value: text.slice(start, Math.min(stop, start + MAX_JUDGED)),
    next: text.charAt(stop),
    beginsLine: closing === '' && beginsLine(text, name.start),
  };
  if (!isSecretValue(assignment)) return;
  found.push({ start, end: stop, kind });
  progress.covered = stop;
};

/** Values behind names that say that they are secret: assignments, options, headers, cookies, fields of JSON and XML. */
export const findAssignments: Detector = (window, found) => {
  const { bytes } = window;
  const length = bytes.length;
  const progress: Progress = { line: -1, run: -1, cookies: 0, covered: 0 };
  let position = 0;
  while (position < length) {
    const place = FILTER.next(bytes, position, length);
    if (place >= length) return;
    const { text } = window;
    const match = at(WORD, text, place);
    if (match === null) {
      position = place + 1;
      continue;
    }
    const name = nameAround(bytes, match.index, match[0].length);
    position = Math.max(place + 1, name.end);
    const word = match[0].toLowerCase();
    if ((word === 'bearer' || word === 'basic') && name.end === match.index + word.length)
      findBareCredentials(text, word, name.end, found);
    if (word === 'key' && name.end - name.start === 3) continue;
    const sql = word === 'identified by' ? 'password' : undefined;
    const kind = sql ?? secretKindOf(text.slice(name.start, name.end));
    if (kind !== undefined) findValue(text, name, kind, progress, found);
  }
};
