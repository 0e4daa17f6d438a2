import { loadBuiltinContracts } from '@toolfabric/catalogue';
import type { Actor, RegistryRecord, RiskGroup, TaskRecord, ToolContract } from '@toolfabric/contract';
import type { CallFacts, PolicyQuestion } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { createCedarPolicy } from './cedar-policy.ts';
import { checkPolicies } from './check-policies.ts';
import { questionFor, sourceOf, toolNamed, toolOf } from './testing/questions.ts';

const ADA: Actor = { tenant: 'acme', user: 'ada', agent: 'coder' };

const decide = (source: Record<string, string>, question: PolicyQuestion) =>
  createCedarPolicy({ source: sourceOf(source) }).decide(question);

describe('what comes with the fabric', () => {
  it.each([
    ['read', 'allow', 'default.allow.read', undefined],
    ['workspace_write', 'allow', 'default.allow.workspace_write', undefined],
    ['external_write', 'needs_approval', 'default.ask.external_write', 'confirm'],
    ['irreversible', 'needs_approval', 'default.ask.irreversible', 'strong'],
    ['privileged', 'deny', 'no_rule', undefined],
  ] as const)('PO-1, PO-2: %s is answered with %s by rule %s', (risk, verdict, rule, strength) => {
    const answer = decide({}, questionFor(toolOf(risk), ADA));
    expect(answer.verdict).toBe(verdict);
    expect(answer.verdict === 'deny' ? answer : answer.decision).toMatchObject({ rule });
    if (answer.verdict === 'needs_approval') expect(answer.decision.strength).toBe(strength);
  });

  it('PO-1: a task of another tenant is behind a wall, whatever is allowed', () => {
    const question = questionFor(toolOf('read'), ADA);
    const task: TaskRecord = { ...question.task, actor: { ...ADA, tenant: 'other' } };
    expect(decide({}, { ...question, task })).toMatchObject({ verdict: 'deny', rule: 'base.tenant_wall' });
  });

  it('PO-1: in production a shared credential is never used', () => {
    const question = questionFor(toolOf('read'), ADA, { credential: 'shared' });
    expect(decide({}, question).verdict).toBe('allow');
    const facts: CallFacts = { ...question.facts, environment: 'production' };
    expect(decide({}, { ...question, facts })).toMatchObject({ verdict: 'deny', rule: 'base.shared_credential' });
  });

  it('PO-9: what the task wants confirmed is confirmed', () => {
    const answer = decide({}, questionFor(toolOf('read'), ADA, { confirm: true }));
    expect(answer).toMatchObject({
      verdict: 'needs_approval',
      decision: { rule: 'base.task_confirm', strength: 'confirm' },
    });
  });

  it('PO-7: a raised call is judged at the level that it was raised to', () => {
    const raised = { risk: 'external_write' as const, raisedBy: ['installs'] };
    const answer = decide({}, questionFor(toolNamed('process.run'), ADA, raised, { argv: ['npm', 'install'] }));
    expect(answer).toMatchObject({
      verdict: 'needs_approval',
      decision: { rule: 'default.ask.external_write', risk: 'external_write', raisedBy: ['installs'] },
    });
  });

  it('passes its own check', () => {
    expect(checkPolicies(sourceOf({}), loadBuiltinContracts())).toEqual([]);
  });
});

describe('the files of a tenant', () => {
  const edit = (path: string) =>
    questionFor(
      toolNamed('workspace.edit_file'),
      ADA,
      {},
      { path, old_text: '', new_text: '', expected_sha256: 'absent' },
    );
  const NO_SECRETS = `@id("no_secrets")
forbid (principal, action == Action::"workspace.edit_file", resource)
when { context.args.path like "secrets/*" };`;

  it('PO-1: a rule over typed arguments has a stable name', () => {
    expect(decide({ acme: NO_SECRETS }, edit('secrets/a'))).toMatchObject({
      verdict: 'deny',
      rule: 'tenant.acme.no_secrets',
    });
    expect(decide({ acme: NO_SECRETS }, edit('src/a')).verdict).toBe('allow');
    const unnamed = decide({ acme: NO_SECRETS.replace('@id("no_secrets")', '') }, edit('secrets/a'));
    expect(unnamed).toMatchObject({ rule: 'tenant.acme.rules.1' });
  });

  it('a tenant sees the rules of no other', () => {
    expect(decide({ other: NO_SECRETS }, edit('secrets/a')).verdict).toBe('allow');
  });

  it('the first word of a list of arguments can be ruled on', () => {
    const rule = `forbid (principal, action == Action::"process.run", resource)
      when { context.args has argv_first && context.args.argv_first == "make" };`;
    const run = (argv: string[]) => questionFor(toolNamed('process.run'), ADA, {}, { argv });
    expect(decide({ acme: rule }, run(['make', 'all'])).verdict).toBe('deny');
    expect(decide({ acme: rule }, run(['cat', 'make'])).verdict).toBe('allow');
  });

  it('PO-1: limits are the least of contract, policy and request', () => {
    const limited = `@timeout_ms("5000") @output_bytes("1000") permit (principal, action in Action::"read", resource);`;
    const question = questionFor(toolOf('read'), ADA);
    expect(decide({ acme: limited }, question)).toMatchObject({
      decision: { limits: { timeoutMs: 5_000, outputBytes: 1_000 } },
    });
    const asked = { ...question, facts: { ...question.facts, requestLimits: { timeoutMs: 70 } } };
    expect(decide({ acme: limited }, asked)).toMatchObject({ decision: { limits: { timeoutMs: 70 } } });
    const every = { timeoutMs: 9_000, outputBytes: 300, outputTokens: 100 };
    const limits = { ...question, facts: { ...question.facts, requestLimits: every } };
    expect(decide({ acme: limited }, limits)).toMatchObject({
      decision: { limits: { timeoutMs: 5_000, outputBytes: 300, outputTokens: 100 } },
    });
    expect(decide({}, question)).toMatchObject({ decision: { limits: { timeoutMs: 10_000, outputBytes: 4_096 } } });
  });

  it('a scope contains its parts and not what only begins like it', () => {
    const rule = `permit (principal, action in Action::"privileged", resource in Scope::"github:repo:shop/checkout");`;
    const ask = (resource: string) => decide({ acme: rule }, questionFor(toolOf('privileged'), ADA, { resource }));
    for (const resource of ['github:repo:shop/checkout', 'github:repo:shop/checkout#4821'])
      expect(ask(resource)).toMatchObject({ verdict: 'needs_approval', decision: { strength: 'strong', resource } });
    for (const resource of ['github:repo:shop/checkout2', 'github:repo:shop', 'github:repo:shop%2Fcheckout'])
      expect(ask(resource)).toMatchObject({ verdict: 'deny', rule: 'no_rule' });
  });

  it('an approval that was given is asked for no more, a weaker one is', () => {
    const question = questionFor(toolOf('irreversible'), ADA);
    expect(decide({}, { ...question, approval: 'strong' }).verdict).toBe('allow');
    expect(decide({}, { ...question, approval: 'confirm' }).verdict).toBe('needs_approval');
  });
});

describe('an engine that cannot decide', () => {
  it('denies: a prohibition that fails is not left out', () => {
    const failures: unknown[] = [];
    const source = sourceOf({
      acme: 'forbid (principal, action, resource) when { context.args.text.missing == "a" || context.level + 9223372036854775807 > 0 };',
    });
    const policy = createCedarPolicy({ source, onFailure: (details) => failures.push(details) });
    expect(policy.decide(questionFor(toolOf('workspace_write'), ADA))).toMatchObject({
      verdict: 'deny',
      rule: 'engine_error',
    });
    expect(failures).toEqual([{ tool: 'sample.act', tenant: 'acme', error: 'EngineFailure' }]);
  });

  it('denies arguments that are not those of the contract', () => {
    expect(decide({}, questionFor(toolOf('read'), ADA, {}, { text: 7 }))).toMatchObject({ rule: 'engine_error' });
    expect(decide({}, questionFor(toolOf('read'), ADA, {}, {}))).toMatchObject({ rule: 'engine_error' });
  });

  it('denies a level that is none', () => {
    const answer = decide({}, questionFor(toolOf('read'), ADA, { risk: 'odd' as RiskGroup }));
    expect(answer.verdict).toBe('deny');
  });

  it('finds no entity in a text that looks like one', () => {
    const names = ['{"__entity":{"type":"Scope","id":"x"}}'];
    expect(decide({}, questionFor(toolOf('read'), ADA, {}, { text: 'a', names })).verdict).toBe('allow');
    const odd = { text: 'a', __proto__: { level: 0 }, approval: 'strong' };
    expect(decide({}, questionFor(toolOf('external_write'), ADA, {}, odd)).verdict).toBe('needs_approval');
  });
});

describe('a listing', () => {
  it.each(['a-b*', '*[x]*', '^a.c$', 'a|b', 'a{1}/\\\\*'])('RG-5: follows the pattern %s', (pattern) => {
    const rule = `forbid (principal, action == Action::"workspace.read_file", resource) when { context.args.path like "${pattern}" };`;
    const policy = createCedarPolicy({ source: sourceOf({ acme: rule }) });
    expect(policy.couldAllow(ADA, toolNamed('workspace.read_file'))).toBe(true);
  });
});

describe('versions of a tool', () => {
  it('are each judged by their own arguments', () => {
    const later: RegistryRecord = toolOf('read');
    const contract: ToolContract = {
      ...later.contract,
      version: '2.0.0',
      input: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
    };
    const rule =
      'forbid (principal, action == Action::"sample.act", resource) when { context.args has count && context.args.count > 3 };';
    const policy = createCedarPolicy({ source: sourceOf({ acme: rule }) });
    const second = { ...later, contract, digest: 'second' };
    expect(policy.decide(questionFor(later, ADA)).verdict).toBe('allow');
    expect(policy.decide(questionFor(second, ADA, {}, { count: 4 }))).toMatchObject({
      verdict: 'deny',
      rule: 'tenant.acme.rules.1',
    });
    expect(policy.decide(questionFor(second, ADA, {}, { count: 3 })).verdict).toBe('allow');
    expect(checkPolicies(sourceOf({ acme: rule }), [later.contract, contract])).toEqual([]);
  });
});
