import { type Actor, RiskGroup } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BASE_RULES, DEFAULT_RULES } from './base-rules.ts';
import { createCedarPolicy } from './cedar-policy.ts';
import { checkPolicies } from './check-policies.ts';
import { questionFor, sourceOf, toolOf } from './testing/questions.ts';

const ADA: Actor = { tenant: 'acme', user: 'ada', agent: 'coder' };

const ATOMS = [
  ...['a', 'b', 'c', 'd'].map((text) => `context.args.text == "${text}"`),
  'context.args.text like "a*"',
  '["a", "b"].contains(context.args.text)',
  '(context.args has count && context.args.count > 1)',
  '(context.args has count && context.args.count <= 1)',
  '(context.args has count && context.args.count == 2)',
  '(if context.args has all then context.args.all else false)',
  '(context.args has names && context.args.names.contains("x"))',
  '(context.args has names && context.args.names.containsAny(["x", "y"]))',
  '(context.args has names_first && context.args.names_first == "x")',
];
const OTHERS = [
  'context.approval == "none"',
  'context.approval == "strong"',
  'context.level < 2',
  'context.user == "ada"',
  'context.user == "bob"',
  'principal in Tenant::"acme"',
  'principal == Agent::"acme/other"',
  'action in Action::"toolset:sample"',
  'context.hosts.contains("example.com")',
];

const conditionOf = (atoms: readonly string[]) =>
  fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom(...atoms),
      tie('condition').map((one) => `!(${one})`),
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} || ${b})`),
    ),
  })).condition;

const SCOPES = [
  'principal, action, resource',
  'principal, action == Action::"sample.act", resource',
  ...RiskGroup.options.map((risk) => `principal, action in Action::"${risk}", resource`),
];

const filesOf = (atoms: readonly string[]) =>
  fc
    .array(
      fc.record({
        effect: fc.constantFrom('permit', 'permit', 'forbid'),
        scope: fc.constantFrom(...SCOPES),
        clause: fc.constantFrom('when', 'unless'),
        condition: conditionOf(atoms),
      }),
      { minLength: 1, maxLength: 5 },
    )
    .map((rules) =>
      rules.map((rule) => `${rule.effect} (${rule.scope}) ${rule.clause} { ${rule.condition} };`).join('\n'),
    );

/** Everything that the arguments could be, as far as the rules above tell them apart. */
const ALL_ARGUMENTS = ['a', 'b', 'c'].flatMap((text) =>
  [undefined, 0, 2, 3].flatMap((count) =>
    [undefined, true].flatMap((all) =>
      [undefined, ['x'], ['y'], ['y', 'x']].map((names) =>
        Object.fromEntries(Object.entries({ text, count, all, names }).filter(([, value]) => value !== undefined)),
      ),
    ),
  ),
);

const NO_DEFAULTS = { path: 'default.cedar', text: '' };
const withoutDefaults = (acme: string) => ({ ...sourceOf({ acme }), defaults: NO_DEFAULTS });

describe('whatever the files of a tenant say', () => {
  it('PO-2: nothing from external_write upwards is allowed without approval, nothing heavy without a strong one', () => {
    const dangerous = fc.constantFrom('external_write' as const, 'irreversible' as const, 'privileged' as const);
    const own = fc.constantFrom(...RiskGroup.options);
    fc.assert(
      fc.property(
        filesOf([...ATOMS, ...OTHERS]),
        dangerous,
        own,
        fc.constantFrom(...ALL_ARGUMENTS),
        (acme, risk, contract, args) => {
          const policy = createCedarPolicy({ source: sourceOf({ acme }) });
          const question = questionFor(toolOf(contract), ADA, { risk }, args);
          expect(policy.decide(question).verdict).not.toBe('allow');
          const answer = policy.decide({ ...question, approval: 'confirm' });
          if (risk !== 'external_write') expect(answer.verdict).not.toBe('allow');
          if (answer.verdict === 'needs_approval') expect(answer.decision.strength).toBe('strong');
        },
      ),
      { numRuns: 100 },
    );
  });

  it('RG-5: a tool is listed exactly when some arguments could be allowed or approved', () => {
    let listed = 0;
    fc.assert(
      fc.property(filesOf([...ATOMS, ...OTHERS.slice(0, 8)]), fc.constantFrom(...RiskGroup.options), (acme, risk) => {
        const policy = createCedarPolicy({ source: withoutDefaults(acme) });
        const tool = toolOf(risk, risk === 'read' ? {} : { hosts: ['/text'] });
        const levels = RiskGroup.options.filter((one) => one === risk || (one === 'external_write' && risk < one));
        const some = ['external_write' as const, risk].some(
          (level) =>
            RiskGroup.options.indexOf(level) >= RiskGroup.options.indexOf(risk) &&
            ALL_ARGUMENTS.some(
              (args) => policy.decide(questionFor(tool, ADA, { risk: level }, args)).verdict !== 'deny',
            ),
        );
        expect(levels.length).toBeGreaterThan(0);
        expect(policy.couldAllow(ADA, tool)).toBe(some);
        if (some) listed += 1;
      }),
      { numRuns: 30 },
    );
    expect(listed).toBeGreaterThan(3);
    expect(listed).toBeLessThan(30);
  }, 60_000);

  it('RG-5: whatever else they speak of, no tool is hidden that could be allowed', () => {
    const scopes = [
      'resource in Scope::"s"',
      'resource in Scope::"s:a"',
      'resource == Scope::"s:b"',
      'resource in Scope::"t"',
    ];
    const source = filesOf([...ATOMS.slice(0, 6), ...scopes, ...OTHERS]);
    const hosts = fc.constantFrom([], ['example.com'], ['example.org']);
    fc.assert(
      fc.property(source, hosts, fc.constantFrom('a', 'b', 'c'), fc.boolean(), (acme, reached, text, confirm) => {
        const policy = createCedarPolicy({ source: withoutDefaults(acme) });
        const tool = toolOf('workspace_write', { resource: 's:{/text}', hosts: ['/text'] });
        const facts = { resource: `s:${text}`, hosts: reached, confirm };
        const { verdict } = policy.decide(questionFor(tool, ADA, facts, { text }));
        if (verdict !== 'deny') expect(policy.couldAllow(ADA, tool)).toBe(true);
      }),
      { numRuns: 120 },
    );
  });
});

describe('the rules that are built in', () => {
  it('fit every contract', () => {
    const defaults = { path: 'default.cedar', text: BASE_RULES.replaceAll('base.', 'x.') + DEFAULT_RULES };
    const contracts = RiskGroup.options.map((risk) => toolOf(risk).contract);
    const named = contracts.map((contract, index) => ({ ...contract, name: `sample.act${index}` }));
    expect(checkPolicies({ tenants: new Map(), defaults }, named)).toEqual([]);
  });
});
