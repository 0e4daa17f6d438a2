import { contractDigests, loadBuiltinContracts, reviewPublication } from '@toolfabric/catalogue';
import type { RegistryRecord, ToolContract } from '@toolfabric/contract';

export interface ContractReview {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const published = (contract: ToolContract): RegistryRecord => ({
  contract,
  state: 'published',
  ...contractDigests(contract),
});

/** What publication would say of them, one after the other, beside the contracts that come with the fabric. */
export const reviewContracts = (contracts: readonly ToolContract[]): ContractReview => {
  const records = loadBuiltinContracts().map(published);
  const reviews = contracts.map((contract) => {
    const { problems, warnings } = reviewPublication(contract, records);
    records.push(published(contract));
    const named = (text: string): string => `${contract.name}@${contract.version}: ${text}`;
    return { problems: problems.map(({ message }) => named(message)), warnings: warnings.map(named) };
  });
  return {
    problems: reviews.flatMap(({ problems }) => problems),
    warnings: reviews.flatMap(({ warnings }) => warnings),
  };
};
