import type { RegistryRecord } from '@toolfabric/contract';
import { createSuggester } from './nearest-names.ts';
import { compareVersions } from './versions.ts';

/** All versions of one tool that were ever published; drafts are not in it. */
export interface NamedTool {
  readonly versions: ReadonlyMap<string, RegistryRecord>;
  /** What a call without a version gets: the highest published one, else the highest deprecated one. */
  readonly current: RegistryRecord | undefined;
  /** Versions that can be called, the highest first, at most ten. */
  readonly callable: readonly string[];
}

/** Made once for each change of the registry; a call only looks things up in it. */
export interface ToolIndex {
  readonly tools: ReadonlyMap<string, NamedTool>;
  /** Contracts that only the fabric itself may call. */
  readonly internalTools: ReadonlyMap<string, NamedTool>;
  /** Names of callable tools that resemble a name which is unknown. */
  suggest(name: string): string[];
}

const MAX_LISTED = 10;

const toNamedTool = (records: readonly RegistryRecord[]): NamedTool => {
  const highestFirst = [...records].sort((a, b) => compareVersions(b.contract.version, a.contract.version));
  const callable = highestFirst.filter(({ state }) => state === 'published' || state === 'deprecated');
  return {
    versions: new Map(records.map((record) => [record.contract.version, record])),
    current: callable.find(({ state }) => state === 'published') ?? callable[0],
    callable: callable.slice(0, MAX_LISTED).map(({ contract }) => contract.version),
  };
};

const groupByName = (records: readonly RegistryRecord[]): ReadonlyMap<string, NamedTool> => {
  const byName = Map.groupBy(records, ({ contract }) => contract.name);
  return new Map([...byName].map(([name, group]) => [name, toNamedTool(group)]));
};

export const buildIndex = (records: Iterable<RegistryRecord>): ToolIndex => {
  const known = [...records].filter(({ state }) => state !== 'draft');
  const tools = groupByName(known.filter(({ contract }) => !contract.internal));
  const callableNames = [...tools].flatMap(([name, tool]) => (tool.current === undefined ? [] : [name]));
  let suggester: ((name: string) => string[]) | undefined;
  return {
    tools,
    internalTools: groupByName(known.filter(({ contract }) => contract.internal)),
    suggest: (name) => {
      suggester ??= createSuggester(callableNames);
      return suggester(name);
    },
  };
};
