import type { NewTask } from '@toolfabric/client';
import type { Arguments, Flags } from './arguments.ts';
import { UsageError } from './usage-error.ts';

export const TEST_FLAGS: Flags = {
  test: {
    type: 'string',
    value: 'COMMAND',
    help: 'what test.run runs in the new task: program and arguments between blanks, or a JSON list; no shell reads it',
  },
  'test-cwd': { type: 'string', value: 'DIR', help: 'where it runs, relative to the workspace root' },
};

const argvOf = (text: string): string[] => {
  if (!text.trimStart().startsWith('[')) return text.split(/\s+/).filter((part) => part !== '');
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list) && list.every((part) => typeof part === 'string')) return list;
  } catch {}
  throw new UsageError('--test: a JSON list of texts, such as ["node","--test","a file.js"]');
};

/** Words between blanks, exactly as written: quotes are characters like others, and a JSON list says blanks in a word. */
export const testCommandOf = (args: Arguments): Pick<NewTask, 'testCommand'> => {
  const [text, cwd] = [args.text('test'), args.text('test-cwd')];
  if (text === undefined) {
    if (cwd !== undefined) throw new UsageError('--test-cwd goes with --test');
    return {};
  }
  const argv = argvOf(text);
  if (argv.length === 0) throw new UsageError('--test: name a program');
  return { testCommand: { argv, ...(cwd === undefined ? {} : { cwd }) } };
};
