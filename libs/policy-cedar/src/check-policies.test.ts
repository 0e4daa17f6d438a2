import { loadBuiltinContracts } from '@toolfabric/catalogue';
import { describe, expect, it } from 'vitest';
import { checkPolicies } from './check-policies.ts';
import { sourceOf } from './testing/questions.ts';

const contracts = loadBuiltinContracts();
const errorsOf = (text: string) =>
  checkPolicies(sourceOf({ acme: text }), contracts).filter(({ isWarning }) => !isWarning);

describe('PO-6: a file is refused', () => {
  it.each([
    [
      'for an argument that the tool does not have',
      `permit (principal, action == Action::"git.diff", resource)\nwhen { context.args.pth == "a" };`,
      'pth',
    ],
    [
      'for a type that does not fit',
      `permit (principal, action == Action::"git.diff", resource)\nwhen { context.args.context_lines == "3" };`,
      'types',
    ],
    [
      'for an optional argument that is not guarded',
      `permit (principal, action == Action::"git.diff", resource)\nwhen { context.args.path == "a" };`,
      'path',
    ],
    ['for a tool that is not there', `permit (principal, action == Action::"git.dif", resource);`, 'git.dif'],
    ['for a group that is not there', `permit (principal, action in Action::"reads", resource);`, 'reads'],
    ['for what is no Cedar', `permit (principal action, resource);`, 'unexpected token'],
    ['for a template', `permit (principal == ?principal, action, resource);`, 'slot'],
    ['for what is left behind the last semicolon', `permit (principal, action in Action::"read", resource)`, 'parse'],
    [
      'for an annotation that means nothing',
      `@approval("none")\npermit (principal, action in Action::"read", resource);`,
      '@approval',
    ],
    [
      'for a limit that is none',
      `@timeout_ms("0")\npermit (principal, action in Action::"read", resource);`,
      '@timeout_ms',
    ],
    ['for a name that is none', `@id("a b")\npermit (principal, action in Action::"read", resource);`, '@id'],
  ])('%s, with its line', (_what, rule, words) => {
    const [problem, ...others] = errorsOf(`// a comment; with a semicolon\n\n${rule}\n`);
    expect(problem).toMatchObject({ path: 'tenants/acme/rules.cedar', line: 3 });
    expect([problem, ...others].map((one) => one?.message).join(' ')).toContain(words);
  });

  it('for two rules of one name', () => {
    const rule = `@id("one")\npermit (principal, action in Action::"read", resource);\n`;
    expect(errorsOf(rule + rule)).toEqual([
      {
        path: 'tenants/acme/rules.cedar',
        line: 3,
        message: 'the name tenant.acme.one is that of tenants/acme/rules.cedar:1',
      },
    ]);
  });

  it.each([
    'when { context.approval == "none" }',
    'when { context.approval != "strong" }',
    'when { context.approval == "confirm" }',
    'unless { context.approval == "strong" }',
    'when { context.level > 2 || context.approval == "none" }',
  ])('PO-2: that drops the approval of an irreversible or privileged action: %s', (condition) => {
    const scopes = ['action in Action::"irreversible"', 'action in [Action::"read", Action::"privileged"]', 'action'];
    for (const scope of scopes) {
      const [problem] = errorsOf(`\npermit (principal, ${scope}, resource)\n${condition};`);
      expect(problem).toMatchObject({ path: 'tenants/acme/rules.cedar', line: 2 });
      expect(problem?.message).toContain('drops the strong approval');
    }
  });

  it.each([
    'permit (principal, action in Action::"privileged", resource);',
    'permit (principal, action in Action::"privileged", resource) when { context.approval == "strong" };',
    'permit (principal, action in Action::"read", resource) when { context.approval == "none" };',
    'permit (principal, action, resource) when { context.level < 3 && context.approval == "confirm" };',
    'forbid (principal, action in Action::"read", resource) unless { context.approval == "confirm" };',
  ])('and not for what asks for more, or for less where that is allowed: %s', (rule) => {
    expect(errorsOf(rule)).toEqual([]);
  });
});

describe('PO-6: a file with a doubtful rule', () => {
  it('has a warning', () => {
    const rule = 'permit (principal, action == Action::"git.diff", resource) when { context.level > 3 && false };';
    expect(checkPolicies(sourceOf({ acme: rule }), contracts)).toContainEqual(
      expect.objectContaining({ isWarning: true, line: 1, path: 'tenants/acme/rules.cedar' }),
    );
  });
});
