import { Readability } from '@mozilla/readability';
import { Defuddle } from 'defuddle/node';
import { Parser, parseDocument } from 'htmlparser2';
import { parseHTML } from 'linkedom';
import { parse, serialize } from 'parse5';
import { dropHidden } from './drop-hidden.ts';
import { extractText } from './extract-text.ts';
import type { Page } from './page.ts';
import { renderMarkdown } from './render-markdown.ts';

/** Beyond these a page is not made into a document: its text is read in one pass. */
const MAX_ELEMENTS = 150_000;
const MAX_ATTRIBUTES = 400_000;
/** Of one element: looking one up takes as long as there are others. */
const MAX_OWN_ATTRIBUTES = 1_000;
const MAX_DEPTH = 400;
/** Characters of text that a main content should have, unless the whole page has little more. */
const ENOUGH = 200;
const ENOUGH_SHARE = 0.15;
const MAX_FIELD = 500;

const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));

/** Whether a document of it stays small enough, without making one. */
const isReasonable = (html: string): boolean => {
  let elements = 0;
  let depth = 0;
  let deepest = 0;
  let attributes = 0;
  let own = 0;
  let mostOwn = 0;
  const parser = new Parser({
    onattribute() {
      attributes += 1;
      own += 1;
      mostOwn = Math.max(mostOwn, own);
    },
    onopentagname(name) {
      elements += 1;
      own = 0;
      if (VOID.has(name)) return;
      depth += 1;
      deepest = Math.max(deepest, depth);
    },
    onclosetag(name) {
      if (!VOID.has(name)) depth -= 1;
    },
  });
  parser.write(html);
  parser.end();
  const isSmall = elements <= MAX_ELEMENTS && attributes <= MAX_ATTRIBUTES;
  return isSmall && deepest <= MAX_DEPTH && mostOwn <= MAX_OWN_ATTRIBUTES;
};

/** As a browser would read it: with every tag that its author left out. */
const completed = (source: string): string => serialize(parse(source));

type Document = ReturnType<typeof parseHTML>['document'];

const line = (text: string | null | undefined): string =>
  (text ?? '').replace(/\s+/g, ' ').trim().slice(0, MAX_FIELD).toWellFormed();

/** A page may give itself another address of its own host, and no other. */
const canonicalOf = (document: Document, address: string): string => {
  const named = document.querySelector('link[rel~="canonical"]')?.getAttribute('href');
  if (!named || !URL.canParse(named, address)) return '';
  const { href, host, protocol } = new URL(named, address);
  return host === new URL(address).host && /^https?:$/.test(protocol) ? href.slice(0, 2_000) : '';
};

const meta = (document: Document, ...names: readonly string[]): string => {
  for (const name of names) {
    const element = document.querySelector(`meta[name="${name}"], meta[property="${name}"]`);
    const content = line(element?.getAttribute('content'));
    if (content !== '') return content;
  }
  return '';
};

interface Found {
  readonly html: string;
  readonly by: Page['by'];
  readonly title?: string;
  readonly byline?: string;
  readonly published?: string;
}

const byReadability = (html: string): Found | undefined => {
  const { document } = parseHTML(html);
  dropHidden(document);
  const article = new Readability(document as never, {
    charThreshold: ENOUGH,
    maxElemsToParse: MAX_ELEMENTS,
    // The language of a code block stands in its class.
    keepClasses: true,
  }).parse();
  if (!article?.content) return undefined;
  const { content, title, byline, publishedTime } = article;
  return {
    html: content,
    by: 'readability',
    title: line(title),
    byline: line(byline),
    published: line(publishedTime),
  };
};

const byDefuddle = async (html: string, address: string): Promise<Found | undefined> => {
  const { document } = parseHTML(html);
  dropHidden(document);
  const { content, title, author, published } = await Defuddle(document as never, address, { useAsync: false });
  return content
    ? { html: content, by: 'defuddle', title: line(title), byline: line(author), published: line(published) }
    : undefined;
};

const CHROME =
  'nav, footer, aside, header nav, [role="navigation"], [role="banner"], [role="contentinfo"], [role="search"]';

const byBody = (document: Document): Found => {
  for (const element of document.querySelectorAll(CHROME)) element.remove();
  return { html: document.body?.innerHTML ?? '', by: 'body' };
};

const quietly = async (find: () => Found | undefined | Promise<Found | undefined>): Promise<Found | undefined> => {
  try {
    return await find();
  } catch {
    // An extractor that a page breaks has found nothing; the next one is asked.
    return undefined;
  }
};

const render = (found: Found, address: string): string => renderMarkdown(parseDocument(found.html).children, address);

/** Characters of text; one that stands for a syllable or a word counts for three. */
const plainLength = (text: string): number => {
  const dense = text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
  return text.replace(/\s+/g, '').length + 2 * dense;
};

/** The first whose text is enough of the page; else the longest. */
const choose = async (html: string, document: Document, address: string): Promise<readonly [Found, string]> => {
  const whole = plainLength(document.body?.textContent ?? '');
  const isEnough = (text: string) =>
    plainLength(text) >= Math.min(ENOUGH, whole) && plainLength(text) >= whole * ENOUGH_SHARE;
  const tried: (readonly [Found, string])[] = [];
  for (const find of [() => byReadability(html), () => byDefuddle(html, address), () => byBody(document)]) {
    const found = await quietly(find);
    if (found === undefined) continue;
    const text = render(found, address);
    if (isEnough(text)) return [found, text];
    tried.push([found, text]);
  }
  return tried.reduce((best, each) => (each[1].length > best[1].length ? each : best), [{ html: '', by: 'body' }, '']);
};

/** A page that is only text in one pass. */
export const extractPlain = (html: string): Page => {
  const { title, text } = extractText(html);
  const none = { byline: '', canonical: '', language: '', published: '' };
  return { ...none, title: line(title), text, by: 'text', hiddenElements: 0 };
};

/**
 * The main content of a page as Markdown, with what the page says about itself. Makes no request and runs nothing of the
 * page. Meant for a thread that can be ended: a hostile page may take long.
 *
 * @param address absolute, http or https: links and the canonical address are resolved against it.
 */
export const extractPage = async (source: string, address: string): Promise<Page> => {
  if (!isReasonable(source)) return extractPlain(source);
  const html = completed(source);
  const { document } = parseHTML(html);
  const hiddenElements = dropHidden(document);
  const canonical = canonicalOf(document, address);
  const language = line(document.documentElement?.getAttribute('lang')).slice(0, 35);
  const heading = line(document.querySelector('title')?.textContent) || line(document.querySelector('h1')?.textContent);
  const published = meta(document, 'article:published_time', 'date', 'dc.date');
  const [found, text] = await choose(html, document, address);
  return {
    title: heading || (found.title ?? ''),
    byline: found.byline ?? '',
    canonical,
    language,
    published: published || (found.published ?? ''),
    text,
    by: found.by,
    hiddenElements,
  };
};
