import { type SchemaJson, type ValidationError, validate } from '@cedar-policy/cedar-wasm/nodejs';
import type { ToolContract } from '@toolfabric/contract';
import { couldHold } from './could-hold.ts';
import type { PolicySource } from './policy-files.ts';
import { defaultRules, type PolicyProblem, type Rule, type RuleSet, tenantRules } from './rules.ts';
import { fileSchemas, levelsOf } from './schema.ts';
import { isCovered } from './slice.ts';
import { listingQuestion } from './symbolic-context.ts';

const at = ({ path, line }: Rule, message: string): PolicyProblem => ({ path, line, message });

/** That the answer is a success says nothing: the errors stand inside of it. */
const typeProblems = (rules: readonly Rule[], schema: SchemaJson<string>): PolicyProblem[] => {
  if (rules.length === 0) return [];
  const byKey = new Map(rules.map((rule, index) => [`r${index}`, rule]));
  const staticPolicies = Object.fromEntries([...byKey].map(([key, { text }]) => [key, text]));
  const answer = validate({ schema, policies: { staticPolicies } });
  if (answer.type !== 'success')
    return answer.errors.map(({ message }) => ({ path: rules[0]?.path ?? '', line: 1, message }));
  const tell = ({ policyId, error }: ValidationError): PolicyProblem[] => {
    const rule = byKey.get(policyId);
    const message = error.message.replaceAll(`\`${policyId}\``, `\`${rule?.name ?? policyId}\``);
    return rule === undefined ? [] : [at(rule, error.help === null ? message : `${message} (${error.help})`)];
  };
  const warnings = answer.validationWarnings.flatMap(tell).map((problem) => ({ ...problem, isWarning: true }));
  return [...answer.validationErrors.flatMap(tell), ...warnings];
};

const saysApproval = (json: unknown): boolean => JSON.stringify(json).includes('"approval"');

const HEAVY = ['irreversible', 'privileged'] as const;

/**
 * A permit that could hold for a heavy action without a strong yes because of what it says about the yes. The base rules
 * would forbid it all the same; who writes it believes something else.
 */
const dropProblems = (rules: readonly Rule[], contracts: readonly ToolContract[], tenant: string): PolicyProblem[] =>
  rules
    .filter(({ json }) => json.effect === 'permit' && saysApproval(json.conditions))
    .flatMap((rule) => {
      const dropped = contracts.flatMap((contract) =>
        HEAVY.filter(
          (risk) =>
            isCovered(rule.json, contract, risk) &&
            (['none', 'confirm'] as const).some((approval) =>
              couldHold([rule.json], [], listingQuestion({ tenant, contract, risk, approval })),
            ),
        ).map((risk) => `${contract.name} (${risk})`),
      );
      return dropped.length === 0
        ? []
        : [at(rule, `drops the strong approval of ${[...new Set(dropped)].slice(0, 3).join(', ')}; no rule can`)];
    });

/** Stands for the tools that an installation will have: one at every level. */
const probes = (contracts: readonly ToolContract[]): ToolContract[] => {
  const [any] = contracts;
  if (any === undefined) return [];
  return HEAVY.map((risk) => ({
    ...any,
    name: `probe.${risk}`,
    toolset: 'probe',
    governance: { ...any.governance, risk },
  }));
};

const unique = (problems: readonly PolicyProblem[]): PolicyProblem[] =>
  [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()].sort(
    (a, b) => a.path.localeCompare(b.path) || a.line - b.line,
  );

/** The problems of one set of rules against the contracts; without problems it can be enforced. */
export const ruleProblems = (
  { rules, problems }: RuleSet,
  contracts: readonly ToolContract[],
  tenant: string,
): PolicyProblem[] =>
  unique([
    ...problems,
    ...fileSchemas(contracts).flatMap((schema) => typeProblems(rules, schema)),
    ...dropProblems(rules, [...contracts.filter(hasHeavyLevel), ...probes(contracts)], tenant),
  ]);

const hasHeavyLevel = (contract: ToolContract): boolean =>
  levelsOf(contract).some((risk) => (HEAVY as readonly string[]).includes(risk));

/** What forbids a folder to be enforced, and warnings: parse, types, names, and what tries to lift a base rule. */
export const checkPolicies = (source: PolicySource, contracts: readonly ToolContract[]): PolicyProblem[] =>
  unique([
    ...(source.defaults === undefined ? [] : ruleProblems(defaultRules(source), contracts, 'default')),
    ...[...source.tenants].flatMap(([tenant, files]) => ruleProblems(tenantRules(tenant, files), contracts, tenant)),
  ]);
