import { z } from 'zod';
import { writeQuery } from '../query/parse-query.ts';
import { failed, type ProviderState } from './provider-answer.ts';
import { below, type WebProvider } from './web-provider.ts';
import { answered, firstOf, LooseText } from './web-results.ts';

const Answer = z.looseObject({
  results: firstOf(
    z.looseObject({
      url: LooseText,
      title: LooseText,
      content: LooseText,
      publishedDate: LooseText,
    }),
  ),
  unresponsive_engines: firstOf(z.unknown(), 200).default([]),
});

const MEANINGS: readonly (readonly [RegExp, ProviderState])[] = [
  [/captcha|access denied|forbidden|blocked/i, 'blocked'],
  [/too many requests|rate/i, 'rate_limited'],
  [/timeout|timed out/i, 'timeout'],
  [/parsing|unexpected|json/i, 'malformed'],
];

const stateOf = (entry: unknown): ProviderState => {
  const reason = Array.isArray(entry) ? String(entry[1] ?? '').slice(0, 200) : '';
  return MEANINGS.find(([pattern]) => pattern.test(reason))?.[1] ?? 'unreachable';
};

const countsOf = (engines: readonly unknown[]): Partial<Record<ProviderState, number>> => {
  const counts: Partial<Record<ProviderState, number>> = {};
  for (const state of engines.map(stateOf)) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
};

/** `!name` and `:language` choose engines and `!!name` leaves for another site: here they are words. */
const withoutBang = (word: string): string => word.replace(/^[!:?]+/, '');

/** What says most about why there is nothing: the first of these that some engine ended with. */
const WORST = ['blocked', 'rate_limited', 'timeout', 'malformed', 'unreachable'] as const;

/** SearXNG, `GET /search?format=json`. Its status is 200 also when all of its engines are blocked. */
export const searxng: WebProvider = {
  request(base, { query, language }) {
    const url = below(base, '/search');
    url.search = new URLSearchParams({
      q: writeQuery({ ...query, words: query.words.map(withoutBang) }),
      format: 'json',
      ...(language === undefined ? {} : { language }),
    }).toString();
    return { method: 'GET', url, headers: { accept: 'application/json' } };
  },
  read(json, now) {
    const { data, success } = Answer.safeParse(json);
    if (!success) return undefined;
    const { results, unresponsive_engines: engines } = data;
    const answer = answered(
      results.map(({ url, title, content, publishedDate }) => ({
        address: url,
        title,
        description: content,
        published: publishedDate,
      })),
      now,
    );
    if (engines.length === 0) return answer;
    const failedEngines = countsOf(engines);
    const worst = WORST.find((state) => failedEngines[state] !== undefined);
    if (answer.state !== 'empty' || worst === undefined) return { ...answer, failedEngines };
    return { ...failed(worst, 'engines behind it did not answer, and the others found nothing'), failedEngines };
  },
};
