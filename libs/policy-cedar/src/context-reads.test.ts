import { policyToJson } from '@cedar-policy/cedar-wasm/nodejs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCedarPolicy } from './cedar-policy.ts';
import { projectionOf, readsOf } from './context-reads.ts';
import { questionFor, sourceOf, toolOf } from './testing/questions.ts';

const jsonOf = (condition: string) => {
  const answer = policyToJson(`forbid (principal, action, resource) when { ${condition} };`);
  if (answer.type !== 'success') throw new Error(answer.errors.map(({ message }) => message).join('; '));
  return answer.json;
};
const reads = (...conditions: string[]) => readsOf(conditions.map(jsonOf));

describe('what rules read of the context', () => {
  it.each<[string, readonly (readonly string[])[]]>([
    ['true', []],
    ['resource.tenant == principal.tenant', []],
    ['context.level >= 2 && context.approval == "none"', [['level'], ['approval']]],
    ['context.task.tenant == principal.tenant', [['task', 'tenant']]],
    ['context.args.text like "a*"', [['args', 'text']]],
    ['context.args has count && context.args.count > 2', [['args', 'count']]],
    ['context has account', [['account']]],
    ['context.hosts.contains("a") || context.taint.private', [['hosts'], ['taint', 'private']]],
    [
      'if context.confirm then context.user == "a" else [context.risk].contains("read")',
      [['confirm'], ['user'], ['risk']],
    ],
    ['{a: context.user}.a == "x"', [['user']]],
  ])('%s', (condition, paths) => {
    const found = reads(condition);
    expect(found).not.toBe('all');
    expect([...(found as unknown as string[])].sort()).toEqual([...paths].sort());
  });

  it.each(['context == context', '[context].contains(context)', '{a: context}.a.user == "x"'])(
    'a rule that takes the context as a whole reads all of it: %s',
    (condition) => expect(reads(condition)).toBe('all'),
  );

  it('a part that is missing is told from one that is there', () => {
    const account = reads('context has account && context.account == ""');
    expect(projectionOf({}, account)).not.toBe(projectionOf({ account: '' }, account));
  });
});

const ACTOR = { tenant: 'acme', user: 'ann', agent: 'coder' };
const CONDITIONS = [
  'context.user == "bob"',
  'context.args.text == "b"',
  'context.args has count && context.args.count > 1',
  'context.taint.private',
  'context.taint.origins.contains("https://a.example")',
  'context.hosts.contains("a.example")',
  'context has account && context.account == "bot"',
  'context.task has writable && context.task.writable.contains("src/**")',
  'context.raisedBy.containsAny(["big"])',
  'context.level >= 1',
];
const someArgs = fc.record(
  { text: fc.constantFrom('a', 'b', 'c'), count: fc.integer({ min: 0, max: 3 }) },
  { requiredKeys: ['text'] },
);
const someFacts = fc.record(
  {
    hosts: fc.subarray(['a.example', 'b.example']),
    account: fc.constantFrom('bot', 'ann'),
    raisedBy: fc.subarray(['big', 'odd']),
    taint: fc.subarray([{ origin: 'https://a.example', callId: 'c', at: 1, private: true }]),
  },
  { requiredKeys: ['hosts', 'raisedBy', 'taint'] },
);

describe('answers that are remembered', () => {
  it('are those that the engine gives to each question by itself, whatever came before', () => {
    const tool = toolOf('read');
    fc.assert(
      fc.property(
        fc.subarray(CONDITIONS, { minLength: 1 }),
        fc.array(fc.tuple(fc.constantFrom('ann', 'bob'), someFacts, someArgs), { minLength: 2, maxLength: 12 }),
        (conditions, asked) => {
          const text = conditions.map((one) => `forbid (principal, action, resource) when { ${one} };`).join('\n');
          const remembering = createCedarPolicy({ source: sourceOf({ acme: text }) });
          for (const [user, facts, args] of asked) {
            const question = questionFor(tool, { ...ACTOR, user }, facts, args);
            const fresh = createCedarPolicy({ source: sourceOf({ acme: text }) });
            expect(remembering.decide(question)).toEqual(fresh.decide(question));
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('are never those of another tenant, agent, task or resource', () => {
    const text = 'forbid (principal == Agent::"acme/reviewer", action, resource);';
    const policy = createCedarPolicy({ source: sourceOf({ acme: text }) });
    const tool = toolOf('read');
    expect(policy.decide(questionFor(tool, ACTOR)).verdict).toBe('allow');
    expect(policy.decide(questionFor(tool, { ...ACTOR, agent: 'reviewer' })).verdict).toBe('deny');
    const own = questionFor(tool, ACTOR);
    const foreign = { ...own, task: { ...own.task, actor: { ...ACTOR, tenant: 'rival' } } };
    expect(policy.decide(own).verdict).toBe('allow');
    expect(policy.decide(foreign)).toMatchObject({ verdict: 'deny', rule: 'base.tenant_wall' });
  });
});
