import { describe, expect, it } from 'vitest';
import { parseArguments } from './arguments.ts';
import { TEST_FLAGS, testCommandOf } from './test-command.ts';
import { UsageError } from './usage-error.ts';

const of = (...argv: string[]) => testCommandOf(parseArguments(argv, TEST_FLAGS, 0, 0));

describe('the test command of a new task', () => {
  it('is split at blanks and nothing else', () => {
    expect(of()).toEqual({});
    expect(of('--test', ' node  --test "a b" ')).toEqual({ testCommand: { argv: ['node', '--test', '"a', 'b"'] } });
    expect(of('--test', '["node","a b"]', '--test-cwd', 'x')).toEqual({
      testCommand: { argv: ['node', 'a b'], cwd: 'x' },
    });
  });

  it.each([[['--test', ' ']], [['--test', '[]']], [['--test', '[1]']], [['--test', '[']], [['--test-cwd', 'x']]])(
    'refuses %j',
    (argv) => expect(() => of(...argv)).toThrow(UsageError),
  );
});
