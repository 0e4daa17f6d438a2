import { toFabricError } from '@toolfabric/kernel';
import type { Config } from '../config.ts';
import { parseArguments } from './arguments.ts';
import { EXIT, exitOfError, INTERRUPTED } from './exit-codes.ts';
import { helpOfCommand, helpOfGroup, helpOfVerb } from './help.ts';
import { createOutput, type Output } from './output.ts';
import { UsageError } from './usage-error.ts';
import type { Verb } from './verb.ts';

/** Runs one command line to its exit code. Never rejects. */
export const runCommand = async (
  argv: readonly string[],
  verbs: readonly Verb[],
  config: Config,
  signal: AbortSignal,
  output: Output = createOutput(argv.includes('--json')),
): Promise<number> => {
  const verb = findVerb(argv, verbs);
  if (!verb) return explain(argv, verbs, output);
  const rest = argv.slice(verb.name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) {
    output.show({ usage: helpOfVerb(verb) }, helpOfVerb(verb));
    return EXIT.ok;
  }
  try {
    const args = parseArguments(rest, verb.flags, ...verb.positionals);
    return await verb.run({ config, args, output, signal });
  } catch (thrown) {
    if (signal.aborted) return INTERRUPTED;
    return tell(thrown, verb, output);
  }
};

const findVerb = (argv: readonly string[], verbs: readonly Verb[]): Verb | undefined =>
  verbs.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '));

/** No verb was found: help where it was asked for, else a hint. */
const explain = (argv: readonly string[], verbs: readonly Verb[], output: Output): number => {
  const [word] = argv;
  const group = word === undefined ? '' : helpOfGroup(word, verbs);
  const asked = word === '--help' || word === '-h' || word === 'help' || argv.includes('--help');
  const text = group === '' ? helpOfCommand(verbs) : group;
  if (asked) {
    output.show({ usage: text }, text);
    return EXIT.ok;
  }
  if (word !== undefined && group === '') output.note(`toolfabric: there is no verb ${word}\n`);
  output.note(text);
  return EXIT.usage;
};

const tell = (thrown: unknown, verb: Verb, output: Output): number => {
  if (thrown instanceof UsageError) {
    if (output.json) output.show({ error: { type: 'usage', message: thrown.message } }, '');
    output.note(`toolfabric ${verb.name}: ${thrown.message}\nsee: toolfabric ${verb.name} --help`);
    return EXIT.usage;
  }
  const error = toFabricError(thrown).toToolError();
  if (output.json) output.show({ error }, '');
  else output.note(`toolfabric ${verb.name}: ${error.type}: ${error.message}${error.hint ? `\n  ${error.hint}` : ''}`);
  for (const { field, expected, got } of output.json ? [] : (error.fields ?? [])) {
    output.note(`  ${field || '(whole)'}: expected ${expected}${got === undefined ? '' : `, got ${got}`}`);
  }
  return exitOfError(error.type);
};
