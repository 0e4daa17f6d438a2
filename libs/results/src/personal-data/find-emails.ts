import type { Finder } from './found.ts';

const EMAIL =
  /(?<![\w.%+\x80-\xff-])[A-Za-z0-9_\x80-\xff][\w.%+\x80-\xff'-]{0,63}@(?:[A-Za-z0-9\x80-\xff](?:[A-Za-z0-9\x80-\xff-]{0,61}[A-Za-z0-9\x80-\xff])?\.){1,6}[A-Za-z\x80-\xff]{2,24}(?![\w-])/g;
/** What ends in these is a file or a unit of a system, not a domain. */
const NO_DOMAIN =
  /\.(?:png|jpe?g|gif|svg|webp|ico|css|[cm]?[jt]sx?|json|html?|ya?ml|toml|lock|tgz|service|socket|target|timer|mount|slice|scope|path|device)$/i;
/** Nobody's. */
const NO_PERSON = /^(?:no-?reply|do-?not-?reply|mailer-daemon|git|hg|svn)@/i;

export const findEmails: Finder = (text, found) => {
  if (!text.includes('@')) return;
  for (const match of text.matchAll(EMAIL)) {
    const [address] = match;
    if (!NO_DOMAIN.test(address) && !NO_PERSON.test(address))
      found.push({ start: match.index, end: match.index + address.length, type: 'email' });
  }
};
