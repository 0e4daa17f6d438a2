import type { Actor } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { createCedarPolicy } from './cedar-policy.ts';
import { questionFor, sourceOf, toolOf } from './testing/questions.ts';

const ADA: Actor = { tenant: 'acme', user: 'ada', agent: 'coder' };
const FORBID = `@id("no_vault")
forbid (principal, action, resource) when { context.args has names && context.args.names.contains("vault") };`;

const decide = (args: Record<string, unknown>) =>
  createCedarPolicy({ source: sourceOf({ acme: FORBID }) }).decide(questionFor(toolOf('read'), ADA, {}, args));

describe('arguments that a policy looks at', () => {
  it('PO-1: are all told', () => {
    expect(decide({ text: 'a', names: ['attic'] })).toMatchObject({ verdict: 'allow' });
    expect(decide({ text: 'a', names: ['attic', 'vault'] })).toMatchObject({ rule: 'tenant.acme.no_vault' });
  });

  it.each([
    ['half a character beside what is forbidden', { names: ['vault', '\ud800'] }],
    ['another type beside what is forbidden', { names: ['vault', 7] }],
    ['a number that is too large', { count: 2 ** 60 }],
  ])('PO-6: deny where one cannot be told: %s', (_, args) => {
    expect(decide({ text: 'a', ...args })).toMatchObject({ verdict: 'deny', rule: 'engine_error' });
  });
});
