import type { Unfollowed } from './fetched.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_ADDRESS = 2_000;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

const shorten = (address: string): string => address.slice(0, MAX_ADDRESS).toWellFormed();

/** Where an answer leads, or why it is not followed; undefined where it leads nowhere. */
export const nextAddress = ({ status, headers }: Answer, from: URL): URL | Unfollowed | undefined => {
  const location = headers['location'];
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  if (location.length > MAX_ADDRESS || !URL.canParse(location, from.href))
    return { to: shorten(location), why: 'not_http' };
  const to = new URL(location, from.href);
  to.hash = '';
  if (to.protocol !== 'https:' && to.protocol !== 'http:') return { to: shorten(to.href), why: 'not_http' };
  if (to.username !== '' || to.password !== '') {
    to.username = '';
    to.password = '';
    return { to: shorten(to.href), why: 'has_user' };
  }
  if (from.protocol === 'https:' && to.protocol === 'http:') return { to: shorten(to.href), why: 'less_secure' };
  return to;
};
