import { type Found, failed, type ProviderAnswer } from '../providers/provider-answer.ts';
import type { Asked } from '../providers/web-provider.ts';
import { wantedTerms } from '../query/parse-query.ts';
import { termsOf } from '../query/terms.ts';
import { folderAddress } from './folder-address.ts';
import type { FolderHit, FolderQuery } from './folder-index.ts';
import type { LocalIndex } from './local-index.ts';

const DAY_MS = 86_400_000;
const foundOf = ({ path, title, changed }: FolderHit): Found => ({
  address: folderAddress(path),
  title: title.slice(0, 500).toWellFormed(),
  description: '',
  published: changed,
});

/** Words that are looked for: a text without spaces has hundreds, and each costs a look at every file that has it. */
const MOST_WORDS = 48;

const queryOf = ({ query, count, after, before }: Asked): FolderQuery => ({
  words: wantedTerms(query).words.slice(0, MOST_WORDS),
  phrases: wantedTerms(query).phrases.map((terms) => terms.slice(0, MOST_WORDS)),
  without: query.without.map((text) => termsOf(text).map(({ term }) => term)),
  count,
  ...(after === undefined ? {} : { after: Date.parse(after) }),
  ...(before === undefined ? {} : { before: Date.parse(before) + DAY_MS - 1 }),
});

/** The folder of a tenant as one provider among others. It has no hosts: a search within sites finds nothing in it. */
export const askFolder = async (
  index: LocalIndex | undefined,
  { tenant, signal }: { readonly tenant: string; readonly signal: AbortSignal },
  asked: Asked,
  timeoutMs: number,
): Promise<ProviderAnswer> => {
  if (index === undefined) return failed('unconfigured', 'this worker has no folder to search');
  if (asked.query.sites.length > 0) return { state: 'empty', found: [] };
  const end = await index.ask(tenant, queryOf(asked), timeoutMs, signal);
  if (end === 'none') return failed('unconfigured', 'this tenant has no folder');
  if (end === 'late') return failed('timeout', `its folder was not looked through within ${timeoutMs} ms`);
  if (end === 'broken') return failed('unreachable', 'its index fell over');
  const found = end.hits.map(foundOf);
  const leftOut = Object.keys(end.leftOut).length === 0 ? {} : { leftOut: end.leftOut };
  return { state: found.length === 0 ? 'empty' : 'ok', found, ...leftOut };
};
