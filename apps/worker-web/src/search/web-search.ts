import { SearchOptions } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { citeResults } from './cite/cite-results.ts';
import { pageSession } from './cite/page-session.ts';
import type { ReaderDriver } from './cite/read-document.ts';
import { filterResults } from './merge/filter-results.ts';
import { mergeResults } from './merge/merge-results.ts';
import { askAll } from './providers/ask-all.ts';
import { wantedTerms, writeQuery } from './query/parse-query.ts';
import { askedOf, SearchArgs } from './search-args.ts';
import { searchOutcome } from './search-outcome.ts';

const optionsOf = ({ options }: ToolContext): SearchOptions => {
  const parsed = SearchOptions.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new FabricError('contract_invalid', 'the contract names no providers that can be asked');
};

/** Shares of the time of a call: for the providers, and until the last page is read. The rest is for writing the answer. */
const ASK_FOR = 0.4;
const READ_UNTIL = 0.8;

const patientFor = ({ providers, ...rest }: SearchOptions, mostMs: number): SearchOptions => ({
  ...rest,
  providers: providers.map((provider) => ({ ...provider, timeout_ms: Math.min(provider.timeout_ms, mostMs) })),
});

/**
 * WB-1: rewrites the query, asks every provider, merges and filters what they found, reads the first results as
 * `url.fetch` would, and cites from stored copies. Each citation is checked before the answer leaves.
 */
export const webSearchTool = (driver: ReaderDriver) =>
  defineTool({
    handler: 'web.search',
    effect: 'none',
    args: SearchArgs,
    async handle(ctx, args) {
      const { timeoutMs } = ctx.limits;
      const until = ctx.clock.now() + timeoutMs * READ_UNTIL;
      const options = patientFor(optionsOf(ctx), Math.ceil(timeoutMs * ASK_FOR));
      const asked = askedOf(args, options);
      const answers = await askAll(driver, ctx, options, asked);
      const merged = mergeResults(answers);
      const { sites, notSites } = asked.query;
      const { kept, filteredOut } = filterResults(merged, { ...asked, sites, notSites });
      const { results, read, snippets } = args;
      const wanted = wantedTerms(asked.query);
      const reading = { ...ctx, egress: pageSession(ctx.egress, options.providers) };
      const cited = await citeResults(driver, reading, kept, { results, read, snippets, wanted, until });
      return searchOutcome(ctx, { asked: writeQuery(asked.query), answers, found: merged.length, filteredOut, cited });
    },
  });
