import { siteOf } from '../query/parse-query.ts';
import type { Merged } from './merge-results.ts';

export interface Filter {
  /** Hosts, each with everything below it; any host when empty. */
  readonly sites: readonly string[];
  readonly notSites: readonly string[];
  /** Days, `YYYY-MM-DD`, both included. */
  readonly after?: string;
  readonly before?: string;
}

/** Why results are not among those that are told, and how many. */
export type FilteredOut = Partial<Record<'site' | 'date' | 'no_date', number>>;

const DAY_MS = 86_400_000;

const hostOf = (address: string): string | undefined =>
  URL.canParse(address) ? siteOf(new URL(address).hostname) : undefined;

const isWithin = (host: string | undefined, sites: readonly string[]): boolean =>
  host !== undefined && sites.some((site) => host === site || host.endsWith(`.${site}`));

const why = ({ address, published }: Merged, filter: Filter): keyof FilteredOut | undefined => {
  const { sites, notSites, after, before } = filter;
  const host = hostOf(address);
  if ((sites.length > 0 && !isWithin(host, sites)) || isWithin(host, notSites)) return 'site';
  if (after === undefined && before === undefined) return undefined;
  if (published === undefined) return 'no_date';
  const isEarly = after !== undefined && published < Date.parse(after);
  const isLate = before !== undefined && published >= Date.parse(before) + DAY_MS;
  return isEarly || isLate ? 'date' : undefined;
};

/**
 * Holds the results to sites and days whatever the provider made of them. Where days are asked for, what has no date is
 * left out: nothing says that it fits.
 */
export const filterResults = (results: readonly Merged[], filter: Filter) => {
  const filteredOut: FilteredOut = {};
  const kept = results.filter((result) => {
    const reason = why(result, filter);
    if (reason !== undefined) filteredOut[reason] = (filteredOut[reason] ?? 0) + 1;
    return reason === undefined;
  });
  return { kept, filteredOut };
};
