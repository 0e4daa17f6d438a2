import { effectOf, type RegistryRecord, type ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { compileInput } from './compile-input.ts';
import { compileQuery, fillArguments } from './reconcile-query.ts';

const PATH = 'governance.reconcile.query';

const placesOf = ({ execution: { adapter, pools } }: ToolContract): string =>
  [...(pools.length === 0 ? [adapter] : pools)].sort().join(', ');

/** Expressions that can be read, and arguments that the asked tool takes, tried with each example of the asking one. */
const questionProblems = (contract: ToolContract, asked: ToolContract): string[] => {
  const query = contract.governance.reconcile?.query;
  if (query === undefined) return [];
  const check = compileInput(asked);
  return contract.capability.examples.flatMap((example) =>
    check(fillArguments(query.arguments, example.arguments)).map(
      ({ field, expected }) => `${PATH}.arguments${field}: ${asked.name} expects ${expected}`,
    ),
  );
};

const askedProblems = (contract: ToolContract, asked: ToolContract): (string | false)[] => [
  effectOf(asked.governance.risk) !== 'none' && `${PATH}.tool: ${asked.name} does not only read`,
  asked.name === contract.name && `${PATH}.tool: a tool cannot be asked about itself`,
  placesOf(asked) !== placesOf(contract) && `${PATH}.tool: ${asked.name} does not run where this runs`,
];

/** What keeps the query of a contract from being asked: the tool that it names must be there, and must only read. */
export const queryProblems = (contract: ToolContract, existing: readonly RegistryRecord[]): string[] => {
  const query = contract.governance.reconcile?.query;
  if (query === undefined) return [];
  const asked = existing.find(
    ({ contract: { name, version }, state }) => `${name}@${version}` === query.tool && state !== 'draft',
  );
  if (asked === undefined) return [`${PATH}.tool: ${query.tool} is not published`];
  try {
    compileQuery(query);
    return [...askedProblems(contract, asked.contract), ...questionProblems(contract, asked.contract)].filter(
      (problem) => typeof problem === 'string',
    );
  } catch (error) {
    if (error instanceof FabricError) return [`${PATH}: ${error.message}`];
    throw error;
  }
};
