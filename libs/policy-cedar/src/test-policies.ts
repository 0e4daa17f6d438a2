import { compileInput, contractDigests } from '@toolfabric/catalogue';
import type { Actor, RegistryRecord, TaskRecord, ToolContract } from '@toolfabric/contract';
import { factsOf, raiseByTaint } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import type { PolicyAnswer, PolicyEngine, PolicyQuestion } from '@toolfabric/ports';
import { compareVersions } from '@toolfabric/routing';
import type { PolicyCase } from './case-file.ts';

export interface CaseResult {
  readonly name: string;
  readonly passed: boolean;
  /** What was said instead. */
  readonly got: string;
}

/** The version that is named, else the highest one. */
const findTool = (contracts: readonly ToolContract[], tool: string): ToolContract | undefined => {
  const [name, version] = tool.split('@');
  return contracts
    .filter((contract) => contract.name === name && (version === undefined || contract.version === version))
    .sort((a, b) => compareVersions(b.version, a.version))[0];
};

const questionOf = (one: PolicyCase, tenant: string, contract: ToolContract): PolicyQuestion => {
  const actor: Actor = { tenant, ...one.actor };
  const testCommand = one.test_command && { argv: one.test_command, sha256: '' };
  const task: TaskRecord = {
    ...{ taskId: `t-${'0'.repeat(26)}`, actor, title: one.name, state: 'open', createdAt: 0 },
    ...(one.constraints === undefined ? {} : { constraints: one.constraints }),
    ...(testCommand === undefined ? {} : { testCommand }),
  };
  const taint = one.taint.map((origin) => ({ origin, callId: 'case', at: 0 }));
  const { args, environment, roles } = one;
  const told = factsOf({ contract, args, actor, task, environment, roles, taint });
  const tool: RegistryRecord = { contract, state: 'published', ...contractDigests(contract) };
  return { actor, task, tool, args, facts: raiseByTaint(told, contract) };
};

const ruleOf = (answer: PolicyAnswer): string => (answer.verdict === 'deny' ? answer.rule : answer.decision.rule);

const told = (answer: PolicyAnswer): string => {
  const strength = answer.verdict === 'needs_approval' ? ` (${answer.decision.strength})` : '';
  return `${answer.verdict}${strength} by ${ruleOf(answer)}`;
};

const isExpected = ({ verdict, rule, strength }: PolicyCase, answer: PolicyAnswer): boolean =>
  answer.verdict === verdict &&
  (rule === undefined || ruleOf(answer) === rule) &&
  (strength === undefined || (answer.verdict === 'needs_approval' && answer.decision.strength === strength));

/** Puts the case to the engine, after the checks that every call passes before the policy. */
export const runCase = (
  engine: PolicyEngine,
  one: PolicyCase,
  tenant: string,
  contracts: readonly ToolContract[],
): CaseResult => {
  const fail = (got: string): CaseResult => ({ name: one.name, passed: false, got });
  const contract = findTool(contracts, one.tool);
  if (contract === undefined) return fail(`there is no tool ${one.tool}`);
  const [wrong] = compileInput(contract)(one.args);
  if (wrong !== undefined) return fail(`the arguments do not fit the tool: ${wrong.field} is no ${wrong.expected}`);
  try {
    const answer = engine.decide(questionOf(one, tenant, contract));
    return { name: one.name, passed: isExpected(one, answer), got: told(answer) };
  } catch (error) {
    if (error instanceof FabricError) return fail(error.message);
    throw error;
  }
};
