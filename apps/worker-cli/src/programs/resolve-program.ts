import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { checkProgram, type Refusal, ruleOf } from '@toolfabric/shell-analysis';

export { KNOWN_PROGRAMS } from '@toolfabric/shell-analysis';

export interface AllowedPrograms {
  /** Names that this executor allows. */
  readonly names: readonly string[];
  /** Directories with programs, as a command sees them. */
  readonly directories: readonly string[];
}

export interface ResolvedCommand {
  /** Absolute program and its arguments, checked and written out in full. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
}

const MOST_HINT = 900;

const notAllowed = (message: string, hint: string): FabricError =>
  new FabricError('program_not_allowed', message, { hint: hint.slice(0, MOST_HINT) });

/** Redacts a text. */
export type Redact = (text: string) => string;

/** An argument as it may stand in a message. */
const shown = (argument: string, redact: Redact): string => JSON.stringify(redact(argument).slice(0, 100));

const refuse = (name: string, { argument, why, allowed }: Refusal, redact: Redact): FabricError => {
  const options = (allowed ?? [...new Set(ruleOf(name)?.options.keys() ?? [])]).join(' ');
  const hint = options === '' ? 'See which arguments the message names.' : `Allowed options of ${name}: ${options}`;
  return notAllowed(`${name}: ${shown(argument, redact)} is not allowed: ${why}`, hint);
};

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
};

/** The place of a program as a command sees it; undefined where this machine does not have it. */
export const placeOfProgram = (name: string, directories: readonly string[]): string | undefined =>
  directories.map((directory) => join(directory, name)).find(isExecutable);

/**
 * What may be run of an argv: its program by an absolute path out of the configured directories, its arguments as its
 * table allows them. Throws `program_not_allowed`, naming the argument, which is redacted before it is cut.
 */
export const resolveProgram = (
  allowed: AllowedPrograms,
  argv: readonly string[],
  redact: Redact = (text) => text,
): ResolvedCommand => {
  const [name = '', ...args] = argv;
  const list = `Allowed programs: ${allowed.names.join(', ')}`;
  if (!allowed.names.includes(name)) throw notAllowed(`the program ${shown(name, redact)} is not on the list`, list);
  if (argv.some((argument) => argument.includes('\0') || !argument.isWellFormed())) {
    throw notAllowed(`${name}: an argument holds characters that no argument can have`, list);
  }
  const checked = checkProgram(name, args);
  if ('refused' in checked) throw refuse(name, checked.refused, redact);
  const place = placeOfProgram(name, allowed.directories);
  if (place === undefined) throw notAllowed(`the program ${name} is not installed on this executor`, list);
  return { command: [place, ...checked.args], env: ruleOf(name)?.env ?? {} };
};
