import type { DecisionSummary, ToolContract } from '@toolfabric/contract';
import type { CallFacts, PolicyAnswer, PolicyExplanation, PolicyQuestion } from '@toolfabric/ports';
import { LADDER } from './base-rules.ts';
import type { Rule } from './rules.ts';

/** The yes that is supposed, from none upwards. */
export const RUNGS = ['none', 'confirm', 'strong'] as const;
export type Rung = (typeof RUNGS)[number];
type Step = PolicyExplanation['steps'][number];

/** What a file of the tenant says is told before what holds by default. */
const firstOf = (rules: readonly string[]): string | undefined =>
  [...rules].sort((a, b) => Number(b.startsWith('tenant.')) - Number(a.startsWith('tenant.')) || (a < b ? -1 : 1))[0];

const NO_RULE = 'no_rule';

/** A wait is told by the rule that asks; where only the ladder does, by the rule that permits it after the yes. */
const askingRule = (first: Step, granted: Step): string =>
  firstOf(first.rules.filter((rule) => !LADDER.has(rule))) ?? firstOf(granted.rules) ?? NO_RULE;

const leastOf = (own: number, others: readonly (number | undefined)[]): number =>
  Math.min(own, ...others.filter((other) => other !== undefined));

/** The least of contract, task, request and every permit that holds. */
const limitsOf = (
  { execution, output }: ToolContract,
  permits: readonly Rule[],
  facts: CallFacts,
): DecisionSummary['limits'] => {
  const of = (limit: keyof Rule['limits']) => permits.map(({ limits }) => limits[limit]);
  const { requestLimits: asked } = facts;
  const tokens = [asked?.outputTokens, ...of('outputTokens')];
  const outputTokens = leastOf(output.budget_tokens ?? Number.POSITIVE_INFINITY, tokens);
  return {
    timeoutMs: leastOf(execution.timeout_ms, [asked?.timeoutMs, ...of('timeoutMs')]),
    outputBytes: leastOf(output.budget_bytes, [asked?.outputBytes, ...of('outputBytes')]),
    ...(Number.isFinite(outputTokens) ? { outputTokens } : {}),
  };
};

export const denial = (policyVersion: string, rule: string, reason: string): PolicyAnswer => ({
  verdict: 'deny',
  policyVersion,
  rule,
  reason,
});

const decisionOf = (
  policyVersion: string,
  { tool, facts }: PolicyQuestion,
  rule: string,
  permits: readonly Rule[],
): DecisionSummary => ({
  policyVersion,
  rule,
  risk: facts.risk,
  ...(facts.raisedBy.length === 0 ? {} : { raisedBy: facts.raisedBy.slice(0, 20) }),
  ...(facts.resource === undefined ? {} : { resource: facts.resource }),
  ...(facts.account === undefined ? {} : { account: facts.account }),
  limits: limitsOf(tool.contract, permits, facts),
});

/** What the steps of the ladder, from the lowest, say together. */
export const answerOf = (
  version: string,
  question: PolicyQuestion,
  slice: readonly Rule[],
  steps: readonly Step[],
): PolicyAnswer => {
  const { contract } = question.tool;
  const { risk } = question.facts;
  const allowed = steps.find((step) => step.allowed);
  const [first] = steps;
  if (first === undefined) return denial(version, 'engine_error', 'nothing was asked');
  if (allowed === undefined) {
    const rule = firstOf(steps.at(-1)?.rules ?? []) ?? NO_RULE;
    return denial(version, rule, `the policy does not allow ${contract.name} (${risk}) here`);
  }
  const permits = slice.filter(({ name }) => allowed.rules.includes(name));
  if (allowed === first) {
    const rule = firstOf(allowed.rules) ?? NO_RULE;
    return { verdict: 'allow', decision: decisionOf(version, question, rule, permits) };
  }
  const decision = decisionOf(version, question, askingRule(first, allowed), permits);
  const strength = allowed.approval === 'strong' ? 'strong' : 'confirm';
  const reason = `a person must approve ${contract.name} (${risk})`;
  return { verdict: 'needs_approval', decision: { ...decision, strength }, reason };
};
