import type { SearchOptions } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { Asked } from './providers/web-provider.ts';
import { parseQuery, siteOf } from './query/parse-query.ts';

const Day = z.iso.date();
const Sites = z.array(z.string().min(1).max(253)).max(50).default([]);

export const SearchArgs = z.strictObject({
  query: z.string().min(1).max(500),
  sites: Sites,
  not_sites: Sites,
  after: Day.optional(),
  before: Day.optional(),
  language: z
    .string()
    .regex(/^[a-z]{2}(?:-[A-Z]{2})?$/, 'two letters, such as "en", or with a country, "pt-BR"')
    .optional(),
  results: z.int().min(1).max(20).default(8),
  read: z.int().min(0).max(10).default(4),
  snippets: z.int().min(1).max(5).default(2),
});
export type SearchArgs = z.infer<typeof SearchArgs>;

const refuse = (field: string, expected: string): FabricError =>
  new FabricError('invalid_arguments', `${field} has to be ${expected}`, {
    fields: [{ field: `/${field}`, expected }],
  });

const sitesOf = (field: string, named: readonly string[], groups: SearchOptions['groups']): string[] => {
  const hosts = named.flatMap((name) => {
    if (!name.startsWith('@')) return [siteOf(name)];
    const group = Object.hasOwn(groups, name.slice(1)) ? groups[name.slice(1)] : undefined;
    if (group === undefined) throw refuse(field, 'hosts, and groups that this tool has');
    return group.map(siteOf);
  });
  return hosts.map((host) => {
    if (host === undefined) throw refuse(field, 'host names without a scheme and a path, or groups');
    return host;
  });
};

/** More than is told in the end: some of it is the same, and some is filtered. */
const ASKED_FOR = 20;

/** The call as every provider is asked. Throws `invalid_arguments`. */
export const askedOf = (args: SearchArgs, { groups }: Pick<SearchOptions, 'groups'>): Asked => {
  const { after, before, language } = args;
  if (after !== undefined && before !== undefined && after > before) throw refuse('before', 'no day before `after`');
  const query = parseQuery(args.query);
  const named = sitesOf('sites', args.sites, groups);
  const sites = [...new Set([...query.sites, ...named])];
  const notSites = [...new Set([...query.notSites, ...sitesOf('not_sites', args.not_sites, groups)])];
  return {
    query: { ...query, sites, notSites },
    count: ASKED_FOR,
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...(language === undefined ? {} : { language }),
  };
};
