import type { RegistryRecord, ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { compareVersions, majorOf } from '@toolfabric/routing';
import { compileInput } from './compile-input.ts';
import { contractDigests } from './contract-digests.ts';
import { argumentWarnings, descriptionProblems, duplicateWarnings } from './description-lint.ts';
import { governanceProblems, governanceWarnings } from './governance-rules.ts';
import { operationProblems } from './interface/operation-rules.ts';
import { outputProblems } from './output-problems.ts';
import { queryProblems } from './query-rules.ts';
import { inputNarrowings, outputNarrowings } from './schema-changes.ts';
import { unenforcedProblems } from './unenforced-fields.ts';

export interface PublicationProblem {
  readonly type: 'contract_invalid' | 'incompatible_change';
  /** Begins with the path of the field. */
  readonly message: string;
}

export interface PublicationReview {
  /** Each of them forbids the publication. */
  readonly problems: readonly PublicationProblem[];
  /** For the author; they forbid nothing. */
  readonly warnings: readonly string[];
}

const MAX_MESSAGES = 20;

/** The input must compile, and each example must be accepted by it. */
const inputProblems = (contract: ToolContract): string[] => {
  try {
    const check = compileInput(contract);
    return contract.capability.examples.flatMap((example, i) =>
      check(example.arguments).map(
        ({ field, expected, got }) =>
          `capability.examples.${i}${field}: expected ${expected}${got === undefined ? '' : `, got ${got}`}`,
      ),
    );
  } catch (error) {
    if (error instanceof FabricError) return [`input: ${error.message}`];
    throw error;
  }
};

const changes = (earlier: ToolContract, later: ToolContract): string[] => [
  ...inputNarrowings(earlier.input, later.input).map((problem) => `input${problem}`),
  ...(earlier.output.format === later.output.format
    ? outputNarrowings(earlier.output.schema, later.output.schema).map((problem) => `output${problem}`)
    : ['output.format: was changed']),
];

/** The versions of the same major right below and right above: compatibility is a chain. */
const neighboursOf = (contract: ToolContract, others: readonly ToolContract[]) => {
  const near = others
    .filter(({ version }) => majorOf(version) === majorOf(contract.version) && version !== contract.version)
    .sort((a, b) => compareVersions(a.version, b.version));
  return {
    below: near.findLast(({ version }) => compareVersions(version, contract.version) < 0),
    above: near.find(({ version }) => compareVersions(version, contract.version) > 0),
  };
};

/** RG-3: versions are immutable, and within one major each accepts what the one before it accepted. */
const historyProblems = (contract: ToolContract, existing: readonly RegistryRecord[]): string[] => {
  const published = existing.filter(({ contract: { name }, state }) => name === contract.name && state !== 'draft');
  const same = published.find(({ contract: { version } }) => version === contract.version);
  if (same !== undefined && same.digest !== contractDigests(contract).digest) {
    return [`version: ${contract.version} was published with other content; publish this under a new version`];
  }
  const { below, above } = neighboursOf(
    contract,
    published.map((record) => record.contract),
  );
  return [
    ...(below === undefined ? [] : changes(below, contract).map((problem) => `${problem} (since ${below.version})`)),
    ...(above === undefined ? [] : changes(contract, above).map((problem) => `${problem} (in ${above.version})`)),
  ].map((problem) => `${problem}; that needs a new major version`);
};

/** Everything that is to be said before a contract is published beside the `existing` ones. */
export const reviewPublication = (contract: ToolContract, existing: Iterable<RegistryRecord>): PublicationReview => {
  const records = [...existing];
  const rules = contract.internal ? [] : descriptionProblems(contract);
  const invalid = [
    ...unenforcedProblems(contract),
    ...governanceProblems(contract),
    ...inputProblems(contract),
    ...outputProblems(contract),
    ...queryProblems(contract, records),
    ...operationProblems(contract),
    ...rules,
  ];
  const incompatible = historyProblems(contract, records);
  return {
    problems: [
      ...invalid.map((message) => ({ type: 'contract_invalid' as const, message })),
      ...incompatible.map((message) => ({ type: 'incompatible_change' as const, message })),
    ],
    warnings: [
      ...governanceWarnings(contract),
      ...(contract.internal ? [] : [...argumentWarnings(contract), ...duplicateWarnings(contract, records)]),
    ],
  };
};

/** Why a contract cannot be published; empty when it can. */
export const checkPublication = (contract: ToolContract, existing: Iterable<RegistryRecord>): string[] =>
  reviewPublication(contract, existing).problems.map(({ message }) => message);

/**
 * Answers the warnings of a contract that can be published. Throws `incompatible_change` when it breaks with what was
 * published before, else `contract_invalid`; the message lists every problem.
 */
export const assertPublishable = (contract: ToolContract, existing: Iterable<RegistryRecord>): readonly string[] => {
  const { problems, warnings } = reviewPublication(contract, existing);
  if (problems.length === 0) return warnings;
  const type = problems.some((problem) => problem.type === 'incompatible_change')
    ? 'incompatible_change'
    : 'contract_invalid';
  const listed = problems.slice(0, MAX_MESSAGES).map(({ message }) => message);
  throw new FabricError(type, `${contract.name}@${contract.version}: ${listed.join('; ')}`);
};
