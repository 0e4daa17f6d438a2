import { Refused } from '../refuse.ts';

const PLAIN = /^\/[!-~]*$/;
/** What servers take for a slash, an end or a parameter of a segment, each in its own way; and an escape of an escape. */
const AMBIGUOUS = /\\|;|#|%(?:2f|5c|3b|25|00|0a|0d|3f|23)|%(?![0-9a-f]{2})/i;
const UNRESERVED = /%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi;

const decodePlain = (path: string): string =>
  path.replace(UNRESERVED, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)));

/**
 * A path, with its query, as it is compared and forwarded. With `compared` it has one reading only: escapes of plain
 * characters are undone and dot segments resolved, once; `path_malformed` for what servers read differently.
 */
export const normalisePath = (text: string, compared: boolean): string => {
  if (!PLAIN.test(text) || text.includes('#')) throw new Refused('path_malformed');
  if (!compared) return text;
  const at = text.indexOf('?');
  const path = at < 0 ? text : text.slice(0, at);
  if (AMBIGUOUS.test(path)) throw new Refused('path_malformed');
  return resolveDots(decodePlain(path)) + (at < 0 ? '' : text.slice(at));
};

const resolveDots = (path: string): string => {
  const kept: string[] = [];
  const segments = path.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === '' && !last) throw new Refused('path_malformed');
    if (segment === '..') kept.pop();
    if (segment !== '.' && segment !== '..') kept.push(segment);
    else if (last) kept.push('');
  }
  return `/${kept.join('/')}`;
};

/** Whether `path` (as normalised) is `prefix` or below it, by whole segments. */
export const isBelow = (path: string, prefix: string): boolean => {
  const plain = path.split('?', 1)[0] ?? '';
  const folder = prefix.endsWith('/') ? prefix : `${prefix}/`;
  return plain === prefix || plain.startsWith(folder);
};
