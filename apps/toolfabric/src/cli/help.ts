import type { Flags } from './arguments.ts';
import type { Verb } from './verb.ts';

const table = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
};

const flagRows = (flags: Flags): [string, string][] =>
  Object.entries({ ...flags, help: { type: 'boolean' as const, help: 'show this' } }).map(([name, flag]) => [
    `--${name}${'value' in flag && flag.value ? ` ${flag.value}` : ''}`,
    `${flag.help}${'multiple' in flag && flag.multiple ? '; may be repeated' : ''}`,
  ]);

export const helpOfVerb = (verb: Verb): string =>
  [
    `usage: toolfabric ${verb.name} ${verb.usage}`.trimEnd(),
    `\n${verb.summary}\n`,
    table(flagRows(verb.flags)),
    ...(verb.notes === undefined ? [] : [`\n${verb.notes.trim()}`]),
  ].join('\n');

const EXIT_CODES = `exit codes:
  0 ok   1 the tool failed   2 wrong usage   3 denied, or needs approval
  4 the outcome is unknown   5 the fabric, or something it needs, is not there`;

export const helpOfCommand = (verbs: readonly Verb[]): string =>
  [
    'usage: toolfabric <verb> [arguments] [--help]\n',
    table(verbs.map(({ name, usage, summary }) => [`${name} ${usage}`.trimEnd(), summary])),
    `\n${EXIT_CODES}`,
    '\nEvery verb takes --json. The gateway and token come from --address and --token, else from TOOLFABRIC_ADDRESS\nand TOOLFABRIC_TOKEN, else from the state folder that `toolfabric up` writes (--state, TOOLFABRIC_STATE).',
  ].join('\n');

/** Verbs whose group is `word`, such as `tools`. */
export const helpOfGroup = (word: string, verbs: readonly Verb[]): string =>
  table(
    verbs
      .filter(({ name }) => name.startsWith(`${word} `))
      .map(({ name, usage, summary }) => [`toolfabric ${name} ${usage}`.trimEnd(), summary]),
  );
