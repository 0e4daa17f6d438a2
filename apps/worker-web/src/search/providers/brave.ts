import { z } from 'zod';
import { writeQuery } from '../query/parse-query.ts';
import { below, type WebProvider } from './web-provider.ts';
import { answered, firstOf, LooseText } from './web-results.ts';

const Answer = z.looseObject({
  type: z.literal('search'),
  web: z
    .looseObject({
      results: firstOf(
        z.looseObject({ url: LooseText, title: LooseText, description: LooseText, page_age: LooseText }),
      ),
    })
    .nullish(),
});

/** Brave Search, `GET /res/v1/web/search`. Its key goes into `X-Subscription-Token` at the way out. */
export const brave: WebProvider = {
  request(base, { query, count, after, before, language }) {
    const url = below(base, '/res/v1/web/search');
    const range =
      after === undefined && before === undefined ? undefined : `${after ?? '1970-01-01'}to${before ?? '2100-01-01'}`;
    url.search = new URLSearchParams({
      q: writeQuery(query),
      count: String(Math.min(count, 20)),
      ...(range === undefined ? {} : { freshness: range }),
      ...(language === undefined ? {} : { search_lang: language.slice(0, 2) }),
    }).toString();
    return { method: 'GET', url, headers: { accept: 'application/json' } };
  },
  read(json, now) {
    const { data, success } = Answer.safeParse(json);
    if (!success) return undefined;
    return answered(
      (data.web?.results ?? []).map(({ url, title, description, page_age: published }) => ({
        address: url,
        title,
        description,
        published,
      })),
      now,
    );
  },
};
