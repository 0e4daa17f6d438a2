import { z } from 'zod';
import { writeQuery } from '../query/parse-query.ts';
import { below, type WebProvider } from './web-provider.ts';
import { answered, firstOf, LooseText } from './web-results.ts';

const Answer = z.looseObject({
  results: firstOf(z.looseObject({ url: LooseText, title: LooseText, content: LooseText, published_date: LooseText })),
});

const MOST_DOMAINS = 150;

/** Tavily, `POST /search`. Its key goes into `Authorization` at the way out. It takes sites as fields, not as words. */
export const tavily: WebProvider = {
  request(base, { query, count, after, before }) {
    const { sites, notSites, ...rest } = query;
    const body = {
      query: writeQuery({ ...rest, sites: [], notSites: [] }),
      search_depth: 'basic',
      max_results: Math.min(count, 20),
      ...(sites.length === 0 ? {} : { include_domains: sites.slice(0, MOST_DOMAINS) }),
      ...(notSites.length === 0 ? {} : { exclude_domains: notSites.slice(0, MOST_DOMAINS) }),
      ...(after === undefined ? {} : { start_date: after }),
      ...(before === undefined ? {} : { end_date: before }),
    };
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    return { method: 'POST', url: below(base, '/search'), headers, body: Buffer.from(JSON.stringify(body), 'utf8') };
  },
  read(json, now) {
    const { data, success } = Answer.safeParse(json);
    if (!success) return undefined;
    return answered(
      data.results.map(({ url, title, content, published_date: published }) => ({
        address: url,
        title,
        description: content,
        published,
      })),
      now,
    );
  },
};
