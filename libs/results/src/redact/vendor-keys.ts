import type { SecretKind } from './mark.ts';
import type { Span, Window } from './span.ts';

interface KeyShape {
  readonly kind: SecretKind;
  /** Something short with which every such key begins. */
  readonly hint: string;
  readonly shape: string;
}

/**
 * Keys that can be told by their own shape. Each holds a run of 20 letters, digits, `_`, `-`, `+`, `/` or `=`, and begins
 * with its hint.
 */
const SHAPES: readonly KeyShape[] = [
  { kind: 'access-key', hint: 'A(?:KIA|SIA|BIA|CCA)', shape: 'A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?![A-Za-z0-9])' },
  { kind: 'token', hint: 'IQoJb3JpZ2lu|FwoGZXIvYXdz', shape: '(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/%]{80,}={0,2}' },
  { kind: 'api-key', hint: 'AIza', shape: 'AIza[\\w-]{35}(?![\\w-])' },
  { kind: 'token', hint: 'ya29\\.', shape: 'ya29\\.[\\w-]{20,}' },
  { kind: 'token', hint: '1//0', shape: '1//0[\\w-]{40,}' },
  { kind: 'secret', hint: 'GOCSPX-', shape: 'GOCSPX-[\\w-]{28}' },
  { kind: 'token', hint: 'gh[opsur]_', shape: 'gh[opsur]_[A-Za-z0-9]{36,255}' },
  { kind: 'token', hint: 'github_pat_', shape: 'github_pat_\\w{40,255}' },
  { kind: 'token', hint: 'gl[a-z]{2,7}-', shape: 'gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[\\w.-]{20,300}' },
  { kind: 'token', hint: 'xox[a-z]|xapp-', shape: '(?:xox[abeoprs](?:\\.xox[bp])?|xapp)-(?:[\\w-]{20,400})' },
  { kind: 'secret', hint: 'T[A-Z0-9]{6,12}/B', shape: 'T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{20,32}' },
  {
    kind: 'api-key',
    hint: '[spr]k_(?:live|test)|whsec_',
    shape: '(?:[spr]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,255})',
  },
  { kind: 'token', hint: 'npm_', shape: 'npm_[A-Za-z0-9]{36}' },
  { kind: 'token', hint: 'pypi-', shape: 'pypi-AgE[\\w-]{50,1000}' },
  {
    kind: 'token',
    hint: 'rubygems_|cio[a-zA-Z]|dckr_',
    shape: '(?:rubygems_[0-9a-f]{48}|cio[A-Za-z0-9]{32}|dckr_(?:pat|oat)_[\\w-]{27,40})',
  },
  { kind: 'api-key', hint: 'sk-', shape: 'sk-(?:(?:ant|proj|svcacct|admin|or|None)[\\w-]{0,40}-)?[\\w-]{20,300}' },
  { kind: 'token', hint: 'hf_', shape: 'hf_[A-Za-z0-9]{30,40}' },
  {
    kind: 'api-key',
    hint: 'gsk_|xai-|pplx-|r8_',
    shape: '(?:gsk_[A-Za-z0-9]{40,60}|xai-[A-Za-z0-9]{60,90}|pplx-[A-Za-z0-9]{40,60}|r8_[A-Za-z0-9]{37})',
  },
  { kind: 'api-key', hint: 'SG\\.', shape: 'SG\\.[\\w-]{20,24}\\.[\\w-]{39,50}' },
  { kind: 'api-key', hint: 'SK[0-9a-f]{4}', shape: 'SK[0-9a-f]{32}(?![0-9a-f])' },
  { kind: 'api-key', hint: 'key-[0-9a-f]{8}', shape: 'key-[0-9a-f]{32}(?![0-9a-f])' },
  { kind: 'token', hint: 'AA', shape: '(?<=\\d{8,10}:)AA[\\w-]{32,33}(?![\\w-])' },
  { kind: 'token', hint: 'do[oprt]_v1_', shape: 'do[oprt]_v1_[0-9a-f]{64}' },
  { kind: 'token', hint: 'shp(?:at|ca|pa|ss)_', shape: 'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}' },
  { kind: 'token', hint: 'hv[sbr]\\.', shape: 'hv[sbr]\\.[\\w-]{24,300}' },
  {
    kind: 'token',
    hint: 'lin_api_|ntn_|secret_[A-Za-z0-9]|figd_|sntry',
    shape:
      '(?:lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43}|figd_[\\w-]{40}|sntry[su]_[\\w+/=-]{40,300})',
  },
  {
    kind: 'token',
    hint: 'glc_|glsa_|dop_|NRAK-|dapi',
    shape: '(?:glc_[A-Za-z0-9+/]{32,400}={0,2}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|NRAK-[A-Z0-9]{27}|dapi[0-9a-f]{32})',
  },
  { kind: 'token', hint: 'ATATT3|ATCTT3', shape: '(?:ATATT3|ATCTT3)[\\w=-]{40,300}' },
  { kind: 'private-key', hint: 'AGE-SECRET', shape: 'AGE-SECRET-KEY-1[A-Z0-9]{58}' },
  { kind: 'private-key', hint: 'S[ACNOUX][A-Z2-7]{20}', shape: 'S[ACNOUX][A-Z2-7]{56}(?![A-Za-z0-9])' },
  { kind: 'private-key', hint: '[xyztuv]prv', shape: '[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,112}' },
  {
    kind: 'jwt',
    hint: 'eyJ',
    shape: '(?<![\\w-])eyJ[\\w-]{10,8000}\\.[\\w-]{10,8000}\\.[\\w-]{0,8000}(?:\\.[\\w-]{1,8000}\\.[\\w-]{1,200})?',
  },
];

/** No letter or digit stands before a key, but for the end of an escape of JSON or of a URL. */
const START = '(?:(?<![A-Za-z0-9])|(?<=\\\\[nrt]|\\\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}))';
const HINT = new RegExp(`(?:${SHAPES.map(({ hint }) => hint).join('|')})`, 'y');
const KEY = new RegExp(`${START}(?:${SHAPES.map(({ shape }) => `(${shape})`).join('|')})`, 'y');
/** The first two characters of every hint. */
const FIRST =
  /^(?:A[KSBCIATG]|IQ|Fw|ya|1\/|GO|gh|gi|gl|xo|xa|T[A-Z0-9]|[spr]k|wh|np|py|ru|ci|dc|hf|gs|pp|r8|SG|SK|ke|do|sh|hv|li|nt|se|fi|sn|NR|da|S[ACNOUX]|[xyztuv]p|ey)$/;
/** A key may begin before the run that it holds, as `SG.` does. */
const BEFORE = 6;

/** By two bytes: whether a key can begin with them. */
const BEGINS = new Uint8Array(1 << 16);
/** By one byte: letters and digits, before which no key begins. */
const JOINS = new Uint8Array(256);
for (let first = 33; first < 127; first += 1) {
  JOINS[first] = /[A-Za-z0-9]/.test(String.fromCharCode(first)) ? 1 : 0;
  for (let second = 33; second < 127; second += 1)
    BEGINS[(first << 8) | second] = FIRST.test(String.fromCharCode(first, second)) ? 1 : 0;
}

/** Whether the two bytes at this place are those of a key. */
export const canBeginKey = (bytes: Uint8Array, at: number): boolean =>
  BEGINS[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] === 1;

const isRepetitive = (text: string): boolean => new Set(text.slice(-16)).size < 4;

const keyAt = (text: string, at: number): Span | undefined => {
  HINT.lastIndex = at;
  if (!HINT.test(text)) return undefined;
  KEY.lastIndex = at;
  const match = KEY.exec(text);
  if (match === null || isRepetitive(match[0])) return undefined;
  const index = match.findIndex((part, group) => group > 0 && part !== undefined) - 1;
  return { start: at, end: at + match[0].length, kind: SHAPES[index]?.kind ?? 'token' };
};

const BACKSLASH = 92;
const PERCENT = 37;
/** Characters of the longest escape that can stand at the beginning of a run. */
const ESCAPE_LENGTH = 5;

/** Whether a run begins with the rest of an escape. */
export const beginsWithEscape = (bytes: Uint8Array, start: number): boolean =>
  bytes[start - 1] === BACKSLASH || bytes[start - 1] === PERCENT;

/** Keys of known vendors in and around a run; answers whether there are any. */
export const findVendorKeys = ({ bytes, text }: Window, start: number, end: number, found: Span[]): boolean => {
  const before = found.length;
  const escapeEnd = beginsWithEscape(bytes, start) ? start + ESCAPE_LENGTH : -1;
  for (let at = Math.max(0, start - BEFORE); at + 1 < end; at += 1) {
    if (at > escapeEnd && at > 0 && JOINS[bytes[at - 1] as number] === 1) continue;
    if (!canBeginKey(bytes, at)) continue;
    const key = keyAt(text, at);
    if (key === undefined || key.end <= start) continue;
    found.push(key);
    at = key.end - 1;
  }
  return found.length > before;
};
