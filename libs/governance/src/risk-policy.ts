import type { Actor, DecisionSummary, RegistryRecord, RiskGroup, ToolContract } from '@toolfabric/contract';
import { digestOf } from '@toolfabric/kernel';
import type { PolicyAnswer, PolicyEngine, PolicyExplanation, PolicyQuestion } from '@toolfabric/ports';
import { NEVER_ALLOWED, type PolicyRules, parseRiskPolicy, type RiskPolicyInput } from './policy-config.ts';

interface Scope {
  readonly name: string;
  readonly rules: PolicyRules;
}

type Verdict = 'deny' | 'ask' | 'allow';
interface Ruling {
  readonly verdict: Verdict;
  readonly rule: string;
}

/** Forbid wins, then ask; the name of the rule says where it stands. */
const rulingOf = (scopes: readonly Scope[], { name }: ToolContract, risk: RiskGroup): Ruling => {
  const tool = scopes.find(({ rules }) => rules.denyTools.includes(name));
  if (tool !== undefined) return { verdict: 'deny', rule: `${tool.name}.deny_tool.${name}` };
  for (const verdict of ['deny', 'ask', 'allow'] as const) {
    const scope = scopes.find(({ rules }) => (rules[verdict] as readonly string[]).includes(risk));
    if (scope !== undefined) return { verdict, rule: `${scope.name}.${verdict}.${risk}` };
  }
  return { verdict: 'deny', rule: 'no_rule' };
};

const leastOf = (own: number, others: readonly (number | undefined)[]): number =>
  Math.min(own, ...others.filter((other) => other !== undefined));

const limitsOf = (scopes: readonly Scope[], { execution, output }: ToolContract): DecisionSummary['limits'] => ({
  timeoutMs: leastOf(
    execution.timeout_ms,
    scopes.map(({ rules }) => rules.limits.timeoutMs),
  ),
  outputBytes: leastOf(
    output.budget_bytes,
    scopes.map(({ rules }) => rules.limits.outputBytes),
  ),
  ...(output.budget_tokens === undefined ? {} : { outputTokens: output.budget_tokens }),
});

/**
 * Decides by risk group and tenant, and by nothing else: no argument can change the answer. The version carries a
 * digest of the whole configuration, so that two policies never share one. Throws `invalid_request` for a
 * configuration that does not fit, or that would let an action of a person's kind through without one.
 */
export const createRiskPolicy = (input: RiskPolicyInput): PolicyEngine => {
  const config = parseRiskPolicy(input);
  const version = `${config.version}+${digestOf(config).slice(0, 12)}`;
  const byDefault: readonly Scope[] = [{ name: 'default', rules: config.default }];
  const byTenant = new Map(
    Object.entries(config.tenants).map(([tenant, rules]) => [
      tenant,
      [{ name: `tenant.${tenant}`, rules }, ...byDefault],
    ]),
  );
  const scopesFor = (actor: Actor): readonly Scope[] => byTenant.get(actor.tenant) ?? byDefault;
  const deny = (rule: string, reason: string): PolicyAnswer => ({
    verdict: 'deny',
    policyVersion: version,
    rule,
    reason,
  });

  const decide = ({ actor, task, tool, facts, approval }: PolicyQuestion): PolicyAnswer => {
    if (task.actor.tenant !== actor.tenant) return deny('tenant_mismatch', 'the task belongs to another tenant');
    const scopes = scopesFor(actor);
    const { risk, raisedBy, resource, account } = facts;
    const { verdict, rule } = rulingOf(scopes, tool.contract, risk);
    if (verdict === 'deny') return deny(rule, `the policy does not allow ${tool.contract.name} (${risk}) here`);
    const decision: DecisionSummary = {
      policyVersion: version,
      rule,
      risk,
      ...(raisedBy.length === 0 ? {} : { raisedBy: raisedBy.slice(0, 20) }),
      ...(resource === undefined ? {} : { resource }),
      ...(account === undefined ? {} : { account }),
      limits: limitsOf(scopes, tool.contract),
    };
    const strength = risk === 'irreversible' || risk === 'privileged' ? 'strong' : 'confirm';
    const isAsked = verdict === 'ask' || NEVER_ALLOWED.has(risk) || facts.confirm === true;
    if (!isAsked || approval === 'strong' || approval === strength) return { verdict: 'allow', decision };
    const reason = `a person must approve ${tool.contract.name} (${risk})`;
    return { verdict: 'needs_approval', decision: { ...decision, strength }, reason };
  };

  return {
    version,
    decide,
    explain: (question): PolicyExplanation => {
      const answer = decide(question);
      const rules = [answer.verdict === 'deny' ? answer.rule : answer.decision.rule];
      return { answer, steps: [{ approval: 'none', allowed: answer.verdict === 'allow', rules }] };
    },
    couldAllow: (actor: Actor, tool: RegistryRecord): boolean =>
      rulingOf(scopesFor(actor), tool.contract, tool.contract.governance.risk).verdict !== 'deny',
  };
};
