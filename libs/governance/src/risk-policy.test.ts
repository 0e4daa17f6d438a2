import { type Actor, type RegistryRecord, RiskGroup, type TaskRecord, type ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { CallFacts, PolicyAnswer } from '@toolfabric/ports';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RISK_POLICY, NEVER_ALLOWED, type RiskPolicyInput } from './policy-config.ts';
import { createRiskPolicy } from './risk-policy.ts';

const actor: Actor = { tenant: 'acme', user: 'ann', agent: 'coder' };
const taskOf = (owner: Actor): TaskRecord => ({
  taskId: `t-${'0'.repeat(26)}`,
  actor: owner,
  title: '',
  state: 'open',
  createdAt: 0,
});

const toolOf = (risk: RiskGroup, name = 'workspace.edit_file', timeout = 10_000, bytes = 20_000): RegistryRecord => ({
  contract: {
    name,
    version: '1.0.0',
    execution: { timeout_ms: timeout },
    output: { budget_bytes: bytes },
    governance: { risk },
  } as ToolContract,
  state: 'published',
  digest: '',
  modelDigest: '',
});

const factsFor = ({ contract }: RegistryRecord): CallFacts => ({
  hosts: [],
  paths: [],
  writes: [],
  credential: 'none',
  environment: 'development',
  taint: [],
  risk: contract.governance.risk,
  raisedBy: [],
  roles: [],
});

const ask = (policy: RiskPolicyInput, tool: RegistryRecord, who = actor): PolicyAnswer =>
  createRiskPolicy(policy).decide({ actor: who, task: taskOf(who), tool, args: {}, facts: factsFor(tool) });

const refusal = (config: unknown): FabricError => {
  try {
    createRiskPolicy(config as RiskPolicyInput);
  } catch (error) {
    if (error instanceof FabricError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

describe('the policy that comes with the fabric', () => {
  it.each([
    ['read', 'allow', 'default.allow.read'],
    ['workspace_write', 'allow', 'default.allow.workspace_write'],
    ['external_write', 'needs_approval', 'default.ask.external_write'],
    ['irreversible', 'needs_approval', 'default.ask.irreversible'],
    ['privileged', 'deny', 'default.deny.privileged'],
  ] as const)('PO-1: %s is answered with %s by rule %s', (risk, verdict, rule) => {
    const answer = ask(DEFAULT_RISK_POLICY, toolOf(risk));
    expect(answer.verdict).toBe(verdict);
    expect(answer.verdict === 'deny' ? answer.rule : answer.decision.rule).toBe(rule);
  });
});

describe('rules', () => {
  it('what nobody names is denied', () => {
    expect(ask({ version: '1', default: {} }, toolOf('read'))).toMatchObject({ verdict: 'deny', rule: 'no_rule' });
    const odd = { ...toolOf('read'), contract: { ...toolOf('read').contract, governance: { risk: 'odd' } } };
    expect(ask(DEFAULT_RISK_POLICY, odd as unknown as RegistryRecord)).toMatchObject({ verdict: 'deny' });
  });

  it('forbid wins over allow, wherever each stands', () => {
    const tenants = { acme: { allow: ['read' as const], deny: ['workspace_write' as const] } };
    const policy = { version: '1', default: { allow: ['workspace_write' as const], deny: ['read' as const] }, tenants };
    expect(ask(policy, toolOf('read'))).toMatchObject({ verdict: 'deny', rule: 'default.deny.read' });
    expect(ask(policy, toolOf('workspace_write'))).toMatchObject({ rule: 'tenant.acme.deny.workspace_write' });
  });

  it('a question to a person wins over allow', () => {
    const tenants = { acme: { ask: ['read' as const] } };
    expect(ask({ version: '1', default: { allow: ['read'] }, tenants }, toolOf('read')).verdict).toBe('needs_approval');
  });

  it('a forbidden tool is forbidden under every risk, for its tenant only', () => {
    const tenants = { acme: { denyTools: ['workspace.edit_file'] } };
    const policy: RiskPolicyInput = { ...DEFAULT_RISK_POLICY, tenants };
    expect(ask(policy, toolOf('read'))).toMatchObject({
      verdict: 'deny',
      rule: 'tenant.acme.deny_tool.workspace.edit_file',
    });
    expect(ask(policy, toolOf('read'), { ...actor, tenant: 'other' }).verdict).toBe('allow');
    expect(ask(policy, toolOf('read', 'workspace.edit_file_now')).verdict).toBe('allow');
  });

  it('what one tenant may do, another may not', () => {
    const policy: RiskPolicyInput = { version: '1', default: {}, tenants: { acme: { allow: ['read'] } } };
    expect(ask(policy, toolOf('read')).verdict).toBe('allow');
    for (const tenant of ['other', 'acme2', 'constructor', 'tostring', 'valueof']) {
      expect(ask(policy, toolOf('read'), { ...actor, tenant }).verdict).toBe('deny');
    }
  });

  it('a task of another tenant is denied, whatever is allowed', () => {
    const task = taskOf({ ...actor, tenant: 'other' });
    const answer = createRiskPolicy(DEFAULT_RISK_POLICY).decide({
      ...{ actor, task, tool: toolOf('read'), args: {}, facts: factsFor(toolOf('read')) },
    });
    expect(answer).toMatchObject({ verdict: 'deny', rule: 'tenant_mismatch' });
  });
});

describe('limits', () => {
  it('PO-1: are the least of contract, default and tenant', () => {
    const policy: RiskPolicyInput = {
      version: '1',
      default: { allow: ['read'], limits: { timeoutMs: 5_000, outputBytes: 50_000 } },
      tenants: { acme: { limits: { timeoutMs: 8_000, outputBytes: 4_000 } }, other: {} },
    };
    const limits = (who: Actor) => {
      const answer = ask(policy, toolOf('read'), who);
      return answer.verdict === 'allow' ? answer.decision.limits : undefined;
    };
    expect(limits(actor)).toEqual({ timeoutMs: 5_000, outputBytes: 4_000 });
    expect(limits({ ...actor, tenant: 'other' })).toEqual({ timeoutMs: 5_000, outputBytes: 20_000 });
  });
});

describe('the version', () => {
  it('PO-4: changes with any rule, even when the author forgot to raise it', () => {
    const one = createRiskPolicy({ version: '1', default: { allow: ['read'] } });
    const two = createRiskPolicy({ version: '1', default: { allow: ['read'] }, tenants: { acme: { deny: ['read'] } } });
    expect(one.version).not.toBe(two.version);
    expect(one.version).toBe(createRiskPolicy({ version: '1', default: { allow: ['read'] }, tenants: {} }).version);
    expect(one.version).toMatch(/^1\+[0-9a-f]{12}$/);
  });
});

describe('configurations that are refused', () => {
  it.each([...NEVER_ALLOWED])('PO-2: %s can be allowed neither by default nor for a tenant', (risk) => {
    const byDefault = refusal({ version: '1', default: { allow: ['read', risk] } });
    expect(byDefault).toMatchObject({ type: 'invalid_request' });
    expect(byDefault.message).toContain('default.allow.1');
    const forTenant = refusal({ version: '1', default: {}, tenants: { acme: { allow: [risk] } } });
    expect(forTenant.message).toContain('tenants.acme.allow.0');
  });

  it.each([
    [null],
    [{}],
    [{ version: '', default: {} }],
    [{ version: 'a b', default: {} }],
    [{ version: '1', default: { allow: ['write'] } }],
    [{ version: '1', default: { alow: ['read'] } }],
    [{ version: '1', default: {}, tenants: { 'Bad Name': {} } }],
    [{ version: '1', default: {}, tenants: { 'a.b': {} } }],
    [{ version: '1', default: { denyTools: ['*'] } }],
    [{ version: '1', default: { limits: { timeoutMs: 0 } } }],
    [{ version: '1', default: {}, extra: 1 }],
  ])('%j', (config) => expect(refusal(config).type).toBe('invalid_request'));
});

const someGroups = fc.subarray([...RiskGroup.options]);
const someRules = fc.record({
  allow: fc.subarray(RiskGroup.options.filter((risk) => !NEVER_ALLOWED.has(risk))),
  ask: someGroups,
  deny: someGroups,
  denyTools: fc.subarray(['a.b', 'a.c']),
});
const somePolicy = fc.record({
  version: fc.constant('p'),
  default: someRules,
  tenants: fc.dictionary(fc.constantFrom('acme', 'other'), someRules),
});
const someTool = fc
  .tuple(fc.constantFrom(...RiskGroup.options), fc.constantFrom('a.b', 'a.c', 'a.d'))
  .map(([risk, name]) => toolOf(risk, name));

describe('for any configuration', () => {
  it('PO-2: nothing with an outside effect is ever allowed without a person', () => {
    fc.assert(
      fc.property(somePolicy, someTool, (policy, tool) => {
        fc.pre(NEVER_ALLOWED.has(tool.contract.governance.risk));
        expect(ask(policy, tool).verdict).not.toBe('allow');
      }),
    );
  });

  it('RG-5: a tool is listed exactly when a call of it could be allowed or approved', () => {
    fc.assert(
      fc.property(somePolicy, someTool, (policy, tool) => {
        expect(createRiskPolicy(policy).couldAllow(actor, tool)).toBe(ask(policy, tool).verdict !== 'deny');
      }),
    );
  });

  it('a further prohibition never widens an answer, and a prohibition always holds', () => {
    fc.assert(
      fc.property(somePolicy, someTool, fc.constantFrom(...RiskGroup.options), (policy, tool, risk) => {
        const acme = policy.tenants['acme'] ?? { allow: [], ask: [], deny: [], denyTools: [] };
        const stricter = { ...policy, tenants: { ...policy.tenants, acme: { ...acme, deny: [...acme.deny, risk] } } };
        const verdict = ask(stricter, tool).verdict;
        expect([ask(policy, tool).verdict, 'deny']).toContain(verdict);
        if (tool.contract.governance.risk === risk) expect(verdict).toBe('deny');
      }),
    );
  });
});
