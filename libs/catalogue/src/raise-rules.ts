import { RiskGroup, type ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { argumentNames, compileRaise, DECLARED_FIELD } from './raise-condition.ts';

const level = (risk: RiskGroup): number => RiskGroup.options.indexOf(risk);

const whenProblem = (contract: ToolContract, when: string): string | undefined => {
  try {
    compileRaise(contract, when);
    return undefined;
  } catch (error) {
    if (error instanceof FabricError) return error.message;
    throw error;
  }
};

/** A call that may be raised to a heavy level is held to what a contract of that level is held to. */
const heavyProblems = ({ governance }: ToolContract, to: RiskGroup): (string | false)[] => {
  if (to !== 'irreversible' && to !== 'privileged') return [];
  return [
    governance.operation_key === undefined && `governance.operation_key: needed, since calls may be raised to ${to}`,
    governance.reconcile === undefined && `governance.reconcile: needed, since calls may be raised to ${to}`,
  ];
};

/** What is wrong with the rules that raise the risk of a call; each begins with the path of the field. */
export const raiseProblems = (contract: ToolContract): (string | false | undefined)[] => {
  const { governance } = contract;
  const rules = governance.raise ?? [];
  const names = rules.map(({ name }) => name);
  return [
    rules.length > 0 &&
      argumentNames(contract).includes(DECLARED_FIELD) &&
      `governance.raise: an argument may not be called ${DECLARED_FIELD}: that is what the task declared`,
    ...rules.flatMap(({ name, when, to }, index) => {
      const path = `governance.raise.${index}`;
      const why = whenProblem(contract, when);
      return [
        why !== undefined && `${path}.when: ${why}`,
        names.indexOf(name) !== index && `${path}.name: ${name} stands here twice`,
        level(to) <= level(governance.risk) && `${path}.to: ${to} is not above ${governance.risk}`,
        ...heavyProblems(contract, to),
      ];
    }),
  ];
};
