import type { ShellCommand, ShellFacts, ShellPipeline } from './analysis.ts';
import type { Checked } from './programs/check-arguments.ts';
import { writtenPaths } from './programs/written-paths.ts';
import type { PlainCommand, PlainPipeline } from './read-script.ts';
import { Asked } from './verdicts.ts';
import { placeOfPath } from './workspace-path.ts';

/** Variables that say how a program speaks, and none of which makes it run or load anything. */
const ENVIRONMENT = new Set(
  'CI NODE_ENV LANG LC_ALL TZ NO_COLOR FORCE_COLOR COLUMNS PYTHONHASHSEED PYTHONUNBUFFERED RUST_BACKTRACE'.split(' '),
);

/** Words of the shell itself, which a program of that name would not replace. */
const BUILTINS = new Set(
  '. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown enable eval exec exit export fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd read readarray readonly return set shift shopt source suspend test times trap type typeset ulimit umask unalias unset wait'.split(
    ' ',
  ),
);

/** Programs that take what is fed to them for a program. */
const READS_CODE: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  node: (args) => args.includes('-') || !args.some((argument) => !argument.startsWith('-') || argument === '--test'),
};

export interface CommandRules {
  /** Names of programs that may run. */
  readonly programs: readonly string[];
  readonly check: (name: string, args: readonly string[]) => Checked;
  /** Directory of the workspace that the text runs in. */
  readonly cwd: string;
}

const MOST_SHOWN = 80;

/** Whole or not at all: whoever redacts what is said would not find half of a secret (RS-5). */
const shown = (text: string): string =>
  text.length <= MOST_SHOWN ? JSON.stringify(text) : `a word of ${text.length} characters`;

const checkName = (name: string, { programs }: CommandRules): void => {
  if (BUILTINS.has(name)) throw new Asked('Builtin', `${shown(name)} is a command of the shell itself`);
  if (name.includes('/')) throw new Asked('Program', `${shown(name)} names a file and no known program`);
  if (!programs.includes(name)) throw new Asked('Program', `there is no table of options for ${shown(name)}`);
};

const checkEnvironment = (env: PlainCommand['env']): void => {
  const other = Object.keys(env).find((name) => !ENVIRONMENT.has(name));
  if (other !== undefined) throw new Asked('Environment', `${shown(other)} is not among the variables that may be set`);
};

const checkArguments = (name: string, given: readonly string[], rules: CommandRules): readonly string[] => {
  const checked = rules.check(name, given);
  if ('refused' in checked) {
    const { argument, why } = checked.refused;
    throw new Asked('Option', `${name}: ${shown(argument)}: ${why}`);
  }
  if (READS_CODE[name]?.(checked.args) === true)
    throw new Asked('Program', `${name} would take what is fed to it for a program`);
  return checked.args;
};

/** What is opened by the text itself lies in the workspace, in `/tmp`, or is `/dev/null`. */
const redirectWrites = ({ redirects }: PlainCommand, cwd: string): string[] =>
  redirects.flatMap((redirect) => {
    if (redirect.mode === 'same') return [];
    const place = placeOfPath(cwd, redirect.path);
    if (place.in === 'elsewhere') throw new Asked('Redirect', `${shown(redirect.path)} is outside of the workspace`);
    return place.in === 'workspace' && redirect.mode !== 'read' ? [place.path] : [];
  });

const commandWrites = (name: string, args: readonly string[], cwd: string): string[] =>
  (writtenPaths(name, args) ?? ['.']).flatMap((path) => {
    const place = placeOfPath(cwd, path);
    if (place.in === 'nowhere') return [];
    return place.in === 'workspace' ? [place.path] : ['.'];
  });

const sorted = (all: Iterable<string>): string[] => [...new Set(all)].sort();

/** Checks programs, options, variables and paths of plain pipelines. Throws `Asked` for the first that no table knows. */
export const checkCommands = (
  pipelines: readonly PlainPipeline[],
  rules: CommandRules,
): { pipelines: ShellPipeline[]; facts: ShellFacts } => {
  const writes: string[] = [];
  const checkOne = (command: PlainCommand): ShellCommand => {
    const [name, ...given] = command.argv;
    checkName(name, rules);
    checkEnvironment(command.env);
    const args = checkArguments(name, given, rules);
    writes.push(...redirectWrites(command, rules.cwd), ...commandWrites(name, args, rules.cwd));
    return { ...command, args };
  };
  const checked = pipelines.map(({ when, commands: [first, ...rest] }): ShellPipeline => {
    return { when, commands: [checkOne(first), ...rest.map(checkOne)] };
  });
  const names = checked.flatMap(({ commands }) => commands.map(({ argv: [name] }) => name));
  return { pipelines: checked, facts: { programs: sorted(names), writes: sorted(writes) } };
};
