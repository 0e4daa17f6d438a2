import { z } from 'zod';
import type { Found, ProviderAnswer } from './provider-answer.ts';

const MOST_RESULTS = 50;
const MOST_ADDRESS = 2_000;
const MOST_TITLE = 500;
const MOST_DESCRIPTION = 2_000;

/** A text of any length, or nothing where something else stands there. */
export const LooseText = z.string().catch('');

/** The first of a list of whatever length: nothing else of it is looked at. */
export const firstOf = <T extends z.ZodType>(item: T, most = MOST_RESULTS) =>
  z.preprocess((value) => (Array.isArray(value) ? value.slice(0, most) : value), z.array(item));

export interface RawResult {
  readonly address: string;
  readonly title: string;
  readonly description: string;
  readonly published: string;
}

/** An address that can be asked for, as it is written out; undefined for any other. */
const usable = (text: string): string | undefined => {
  if (text.length > MOST_ADDRESS || /[\p{Cc}\s\\]/u.test(text) || !/^https?:\/\/[^/]/i.test(text)) return undefined;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && url.href.length <= MOST_ADDRESS ? url.href : undefined;
};

/** A time between 1970 and a day from now; anything else is no date of a page. */
export const dateOf = (text: string, now: number): number | undefined => {
  const ms = /^\d{4}-\d{2}-\d{2}|^[A-Z][a-z]{2}, \d/.test(text) ? Date.parse(text.slice(0, 40)) : Number.NaN;
  return ms >= 0 && ms <= now + 86_400_000 ? ms : undefined;
};

const cut = (text: string, most: number): string => text.slice(0, most).toWellFormed();

/** Descriptions hold marks around the words that fit. */
const plain = (text: string): string =>
  cut(text, 4 * MOST_DESCRIPTION)
    .replace(/<\/?(?:strong|b|em|mark|span)\b[^<>]{0,100}>/gi, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

const foundOf = (raw: RawResult, now: number): Found | undefined => {
  const address = usable(raw.address);
  if (address === undefined) return undefined;
  const published = dateOf(raw.published, now);
  const title = cut(plain(raw.title), MOST_TITLE);
  const description = cut(plain(raw.description), MOST_DESCRIPTION);
  return { address, title, description, ...(published === undefined ? {} : { published }) };
};

/** What is left of the results of a provider that answered; some of them may name no address that can be asked for. */
export const answered = (results: readonly RawResult[], now: number): ProviderAnswer => {
  const found = results.slice(0, MOST_RESULTS).flatMap((raw) => foundOf(raw, now) ?? []);
  const unusable = Math.min(results.length, MOST_RESULTS) - found.length;
  if (found.length === 0 && unusable > 0)
    return { state: 'malformed', found, why: 'none of its results has an address that can be asked for' };
  return { state: found.length === 0 ? 'empty' : 'ok', found, ...(unusable === 0 ? {} : { unusable }) };
};
