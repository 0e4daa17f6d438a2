import { FabricError } from '@toolfabric/kernel';
import { cleanUntrusted } from '../../content/clean-untrusted.ts';
import { termsOf } from './terms.ts';

/** What a query asks for, whoever is asked. */
export interface ParsedQuery {
  /** Words as they were written, without operators. */
  readonly words: readonly string[];
  /** What has to stand there word by word. */
  readonly phrases: readonly string[];
  /** What must not stand there: words and phrases. */
  readonly without: readonly string[];
  /** Hosts, each with everything below it. */
  readonly sites: readonly string[];
  readonly notSites: readonly string[];
}

const PART = /(-?)(site:)?(?:"([^"]*)"?|(\S+))/giu;
const MOST_PARTS = 64;

const refuse = (expected: string): FabricError =>
  new FabricError('invalid_arguments', `the query cannot be read: it needs ${expected}`, {
    fields: [{ field: '/query', expected }],
  });

/** A host name as it is compared; undefined for what is none. */
export const siteOf = (text: string): string | undefined => {
  const bare = text
    .trim()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '');
  if (!/^[\p{L}\p{N}.-]{1,253}$/u.test(bare) || !URL.canParse(`http://${bare}/`)) return undefined;
  return new URL(`http://${bare}/`).hostname;
};

const tidy = (query: string): string =>
  cleanUntrusted(query)
    .text.normalize('NFC')
    .replace(/[\u201c\u201d\u201e\u201f\u00ab\u00bb]/g, '"')
    .replace(/[\u2212\u2013\u2014](?=["\p{L}\p{N}])/gu, '-')
    .replace(/\s+/g, ' ')
    .trim();

const saysSomething = (text: string): boolean => termsOf(text).length > 0;

/**
 * Takes a query apart: `"a phrase"`, `-word`, `-"a phrase"`, `site:host` and `-site:host`; anything else is words. The
 * same query gives the same parts, always. Throws `invalid_arguments` for one that asks for nothing, and for a `site:`
 * without a host.
 */
export const parseQuery = (query: string): ParsedQuery => {
  const parsed = { words: [] as string[], phrases: [] as string[], without: [] as string[] };
  const sites: string[] = [];
  const notSites: string[] = [];
  const parts = [...tidy(query).matchAll(PART)];
  if (parts.length > MOST_PARTS) throw refuse(`at most ${MOST_PARTS} words and phrases`);
  for (const [, minus, site, quoted, plain = ''] of parts) {
    const text = (quoted ?? plain).trim();
    if (site !== undefined || /^site:$/i.test(plain)) {
      const host = site === undefined ? undefined : siteOf(text);
      if (host === undefined) throw refuse('a host name after "site:"');
      (minus === '-' ? notSites : sites).push(host);
    } else if (!saysSomething(text)) continue;
    else if (minus === '-') parsed.without.push(text);
    else (quoted === undefined ? parsed.words : parsed.phrases).push(text);
  }
  if (parsed.words.length + parsed.phrases.length === 0) throw refuse('a word or a phrase to look for');
  return { ...parsed, sites: [...new Set(sites)], notSites: [...new Set(notSites)] };
};

/** Sites that one text for a provider names; with more of them the answer alone is filtered. */
const MOST_SITES = 8;

const quote = (text: string): string => (/\s/.test(text) ? `"${text}"` : text);

/** The query in the words that the large search engines share. What it leaves out is filtered in their answers. */
export const writeQuery = ({ words, phrases, without, sites, notSites }: ParsedQuery): string => {
  const only = sites.length > MOST_SITES ? [] : sites.map((site) => `site:${site}`);
  return [
    ...words,
    ...phrases.map((phrase) => `"${phrase}"`),
    ...without.map((text) => `-${quote(text)}`),
    ...(only.length > 1 ? [`(${only.join(' OR ')})`] : only),
    ...notSites.slice(0, MOST_SITES).map((site) => `-site:${site}`),
  ].join(' ');
};

/** Everything that a text should hold, as folded terms; phrases as a row of them. */
export const wantedTerms = ({ words, phrases }: ParsedQuery) => {
  const terms = (text: string) => termsOf(text).map(({ term }) => term);
  return { words: words.flatMap(terms), phrases: phrases.map(terms) };
};
