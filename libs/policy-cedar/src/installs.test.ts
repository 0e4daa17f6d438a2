import { checkPublication } from '@toolfabric/catalogue';
import type { TaskRecord } from '@toolfabric/contract';
import { factsOf } from '@toolfabric/governance';
import { describe, expect, it } from 'vitest';
import { createCedarPolicy } from './cedar-policy.ts';
import { questionFor, toolNamed } from './testing/questions.ts';

const ADA = { tenant: 'acme', user: 'ada', agent: 'coder' };

const decide = (name: 'process.run' | 'test.run', argv: string[]) => {
  const tool = toolNamed(name);
  const isDeclared = name === 'test.run';
  const args = isDeclared ? {} : { argv };
  const question = questionFor(tool, ADA, {}, args);
  const task: TaskRecord = { ...question.task, ...(isDeclared ? { testCommand: { argv, sha256: '' } } : {}) };
  const facts = factsOf({ contract: tool.contract, args, actor: ADA, task, environment: 'development' });
  return createCedarPolicy().decide({ ...question, task, facts });
};

describe.each(['process.run', 'test.run'] as const)('PO-7: %s', (name) => {
  it.each([
    ['npm', 'install'],
    ['npm', '--prefix', 'web', 'ci'],
    ['pnpm', 'add', 'left-pad'],
    ['yarn'],
    ['yarn', 'dlx', 'x'],
    ['pip', 'install', '-r', 'requirements.txt'],
    ['pip3', 'download', 'x'],
    ['python3', '-m', 'pip', 'install', 'x'],
    ['cargo', 'add', 'serde'],
    ['go', 'get', './...'],
    ['bundle', 'install'],
    ['npx', 'cowsay'],
    ['uvx', 'ruff'],
  ])('an installation of dependencies is asked for: %s %s %s', (...argv: string[]) => {
    const answer = decide(
      name,
      argv.filter((word) => word !== undefined),
    );
    expect(answer).toMatchObject({
      verdict: 'needs_approval',
      decision: { risk: 'external_write', rule: 'default.ask.external_write', strength: 'confirm' },
    });
    if (answer.verdict === 'needs_approval') expect(answer.decision.raisedBy).toHaveLength(1);
  });

  it.each([
    ['npm', 'test'],
    ['npm', 'run', 'build'],
    ['cargo', 'test'],
    ['go', 'test', './...'],
    ['python3', '-m', 'pytest'],
    ['make', 'install'],
  ])('a build or a test is not: %s %s %s', (...argv: string[]) => {
    expect(
      decide(
        name,
        argv.filter((word) => word !== undefined),
      ),
    ).toMatchObject({ verdict: 'allow' });
  });
});

describe('PO-2: a contract', () => {
  const sample = toolNamed('process.run').contract;
  const problems = (governance: Record<string, unknown>) =>
    checkPublication({ ...sample, version: '9.0.0', governance: { ...sample.governance, ...governance } }, []);
  const raise = (to: string, when = "argv[0] == 'x'") => ({ raise: [{ name: 'one', when, to }] });

  it.each(['irreversible', 'privileged'])('at the level %s needs an operation key and a reconcile', (risk) => {
    const told = problems({ risk, raise: undefined, reconcile: undefined }).join('; ');
    expect(told).toContain('governance.operation_key');
    expect(told).toContain('governance.reconcile');
  });

  it.each(['irreversible', 'privileged'])('that may be raised to %s needs them too', (to) => {
    expect(problems(raise(to)).join('; ')).toContain('governance.operation_key');
  });

  it('has rules that can be said, that raise, and that have one name each', () => {
    expect(problems(raise('external_write'))).toEqual([]);
    expect(problems(raise('read')).join()).toContain('governance.raise.0.to');
    expect(problems(raise('external_write', 'nothing == `1`')).join()).toContain('governance.raise.0.when');
    expect(problems(raise('external_write', 'argv[')).join()).toContain('governance.raise.0.when');
    const twice = [...raise('external_write').raise, ...raise('external_write').raise];
    expect(problems({ raise: twice }).join()).toContain('stands here twice');
  });
});
