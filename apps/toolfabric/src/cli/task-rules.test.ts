import { describe, expect, it } from 'vitest';
import { parseArguments } from './arguments.ts';
import { TASK_RULE_FLAGS, taskRulesOf } from './task-rules.ts';
import { UsageError } from './usage-error.ts';

const of = (...argv: string[]) => taskRulesOf(parseArguments(argv, TASK_RULE_FLAGS, 0, 0));

describe('what a new task keeps to', () => {
  it('is nothing where no flag says anything', () => expect(of()).toEqual({}));

  it('FD-5, PO-9: is said by flags', () => {
    expect(of('--writable', 'src/**', '--writable', 'docs/*.md', '--forbid-host', '*.example.com')).toEqual({
      constraints: { writable: ['src/**', 'docs/*.md'], forbiddenHosts: ['*.example.com'] },
    });
    expect(of('--confirm', 'git.push', '--serial')).toEqual({ constraints: { confirm: ['git.push'] }, mode: 'serial' });
    expect(of('--rounds', '9', '--calls-per-turn', '4', '--calls-per-tool', '2', '--wall', '60000')).toEqual({
      budget: { rounds: 9, callsPerTurn: 4, callsPerToolPerTurn: 2, wallMs: 60_000 },
    });
    expect(of('--spend', '1')).toEqual({ budget: { spend: 1 } });
    expect(of('--max-ms', '5000', '--max-bytes', '4096', '--max-tokens', '200')).toEqual({
      constraints: { limits: { timeoutMs: 5_000, outputBytes: 4_096, outputTokens: 200 } },
    });
  });

  it.each([
    ['--rounds', '0'],
    ['--calls-per-turn', '-1'],
    ['--wall', '5'],
    ['--spend', '1.5'],
    ['--rounds', '1e3'],
  ])('refuses %s %s', (...argv) => expect(() => of(...argv)).toThrow(UsageError));
});
