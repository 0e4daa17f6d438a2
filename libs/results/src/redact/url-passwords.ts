import type { Detector } from './span.ts';

const AT = 64;
const MAX_BEFORE = 400;
/** What may follow a user's part: never the end of a URL's authority. */
const USER_PART = /^[a-z][a-z0-9+.-]{1,20}:\/\/([^\s/:"'`<>\\]{0,128}):([^\s/"'`<>\\]{1,300})$/i;
const TOKEN_PART = /^[a-z][a-z0-9+.-]{1,20}:\/\/([^\s/:"'`<>\\@]{20,300})$/i;
const AUTHORITY_END = /[\s/?#"'`<>\\]/;
/** Passwords that nobody encoded hold `?` and `#` too. */
const PASSWORD_END = /[\s/"'`<>\\]/;
const SCHEME_BEFORE = /[a-z][a-z0-9+.-]{1,20}$/i;
const PLACEHOLDER = /^(?:\$|<|\{|%[a-z]$|%\(|\*+$|x{3,}$|\.{3}$|\[|\d{1,5}[?#][^@]*=)/;

/** Passwords, and tokens in the place of users, between `://` and `@`. */
export const findUrlPasswords: Detector = (window, found) => {
  const { bytes } = window;
  const first = bytes.indexOf(AT);
  if (first < 0) return;
  const { text } = window;
  let slashes = -1;
  let following = text.indexOf('://');
  for (let at = first; at >= 0 && (slashes >= 0 || following >= 0); at = bytes.indexOf(AT, at + 1)) {
    for (; following >= 0 && following < at; following = text.indexOf('://', following + 3)) slashes = following;
    if (slashes < 0 || at - slashes > MAX_BEFORE) continue;
    const between = text.slice(slashes + 3, at);
    if (between === '' || PASSWORD_END.test(between)) continue;
    // A password may hold the sign itself: the last one before the end of the authority counts.
    const rest = text.slice(at + 1, at + 1 + MAX_BEFORE);
    const stop = rest.search(AUTHORITY_END);
    if (rest.slice(0, stop < 0 ? rest.length : stop).includes('@')) continue;
    const scheme = SCHEME_BEFORE.exec(text.slice(Math.max(0, slashes - 22), slashes))?.[0];
    if (scheme === undefined) continue;
    const url = `${scheme}://${between}`;
    const password = USER_PART.exec(url)?.[2];
    if (password !== undefined) {
      if (!PLACEHOLDER.test(password)) found.push({ start: at - password.length, end: at, kind: 'password' });
      continue;
    }
    const token = TOKEN_PART.exec(url)?.[1];
    if (token !== undefined && /\d/.test(token)) found.push({ start: at - token.length, end: at, kind: 'token' });
  }
};
