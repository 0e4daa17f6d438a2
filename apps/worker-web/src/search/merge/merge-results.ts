import type { Found } from '../providers/provider-answer.ts';
import { canonicalAddress } from './canonical-address.ts';

/** One document that was found, by whoever found it. */
export interface Merged {
  readonly address: string;
  readonly title: string;
  readonly description: string;
  readonly published?: number;
  /** Names of the providers, best rank first. */
  readonly by: readonly string[];
  /** Sum of 1 / (60 + rank) over the providers. */
  readonly score: number;
  /** Other addresses of the same document. */
  readonly alsoAt: readonly string[];
}

export interface Ranking {
  /** Name of the provider. */
  readonly name: string;
  /** Best first. */
  readonly found: readonly Found[];
}

/** Reciprocal rank fusion: the constant that keeps one first place from outweighing everything. */
const DAMPING = 60;

interface Seen {
  readonly found: Found;
  readonly name: string;
  readonly rank: number;
}

/** The first time that each provider names it: that it says it twice makes it no better. */
const firsts = (seen: readonly Seen[]): Seen[] => [
  ...new Map(seen.toReversed().map((each) => [each.name, each])).values(),
];

const mergedOf = (all: readonly Seen[]): Merged => {
  const seen = firsts(all).sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  const founds = seen.map(({ found }) => found);
  const address = founds[0]?.address ?? '';
  const longest = founds.map(({ description }) => description).sort((a, b) => b.length - a.length)[0] ?? '';
  const published = founds.map((found) => found.published).find((ms) => ms !== undefined);
  return {
    address,
    title: founds.map(({ title }) => title).find((title) => title !== '') ?? '',
    description: longest,
    ...(published === undefined ? {} : { published }),
    by: seen.map(({ name }) => name),
    score: seen.reduce((sum, { rank }) => sum + 1 / (DAMPING + rank), 0),
    alsoAt: [...new Set(all.map(({ found }) => found.address))].filter((other) => other !== address),
  };
};

/** Joins what several providers found, by canonical address; best first, and the same for the same answers. */
export const mergeResults = (rankings: readonly Ranking[]): Merged[] => {
  const groups = new Map<string, Seen[]>();
  for (const { name, found } of rankings)
    for (const [at, each] of found.entries()) {
      const key = canonicalAddress(each.address);
      const group = groups.get(key) ?? [];
      group.push({ found: each, name, rank: at + 1 });
      groups.set(key, group);
    }
  return [...groups]
    .map(([key, seen]) => ({ key, merged: mergedOf(seen) }))
    .sort((a, b) => b.merged.score - a.merged.score || (a.key < b.key ? -1 : 1))
    .map(({ merged }) => merged);
};
