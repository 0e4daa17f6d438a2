import { z } from 'zod';
import { EgressHost } from './egress.ts';

const isBase = (text: string): boolean => {
  if (!/^https?:\/\/[!-~]+$/.test(text) || !URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
};

const Base = z.string().max(300).refine(isBase, 'an http(s) address without a user, a query and a fragment');
const Name = z.string().regex(/^[a-z][a-z0-9_-]{0,30}$/, 'lower-case letters, digits, "-" and "_"');
/** Milliseconds until a provider counts as too slow. */
const Patience = z.int().min(100).max(20_000).default(8_000);

const Common = { name: Name.optional(), timeout_ms: Patience };

/** Who is asked. The hosts of those that are reached by the network stand in `execution.egress.rules` too. */
export const SearchProvider = z.discriminatedUnion('kind', [
  /** The folder of the tenant, which needs no network. */
  z.strictObject({ kind: z.literal('local'), ...Common }),
  z.strictObject({ kind: z.literal('searxng'), base: Base, ...Common }),
  z.strictObject({ kind: z.literal('brave'), base: Base.default('https://api.search.brave.com'), ...Common }),
  z.strictObject({ kind: z.literal('tavily'), base: Base.default('https://api.tavily.com'), ...Common }),
]);
export type SearchProvider = z.infer<typeof SearchProvider>;
export type RemoteProvider = Exclude<SearchProvider, { kind: 'local' }>;

/** What it is called in answers: unique in one contract. */
export const providerName = ({ name, kind }: SearchProvider): string => name ?? kind;

/** `execution.options` of a contract whose handler is `web.search`. */
export const SearchOptions = z
  .strictObject({
    providers: z
      .array(SearchProvider)
      .min(1)
      .max(8)
      .default([{ kind: 'local', timeout_ms: 8_000 }]),
    /** Sites that a call may name together as `@group`. */
    groups: z.record(Name, z.array(EgressHost).min(1).max(200)).default({}),
  })
  .refine(({ providers }) => new Set(providers.map(providerName)).size === providers.length, {
    error: 'two providers have one name',
  });
export type SearchOptions = z.infer<typeof SearchOptions>;
