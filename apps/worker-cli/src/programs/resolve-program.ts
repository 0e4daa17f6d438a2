import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { type Checked, checkArguments } from './check-arguments.ts';
import { FILE_PROGRAMS } from './file-programs.ts';
import { checkFind } from './find-expression.ts';
import { LANGUAGE_PROGRAMS } from './language-programs.ts';
import type { ProgramRule, Refusal } from './program-rule.ts';

const RULES: Readonly<Record<string, ProgramRule>> = { ...FILE_PROGRAMS, ...LANGUAGE_PROGRAMS };

/** Every program that has a table. */
export const KNOWN_PROGRAMS: readonly string[] = [...Object.keys(RULES), 'find'].sort();

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

/** An argument as it may stand in a message. */
const shown = (argument: string): string => JSON.stringify(argument.slice(0, 100));

const refuse = (name: string, { argument, why }: Refusal): FabricError => {
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  const options = rule === undefined ? '' : [...new Set(rule.options.keys())].join(' ');
  const hint = options === '' ? 'See which arguments the message names.' : `Allowed options of ${name}: ${options}`;
  return notAllowed(`${name}: ${shown(argument)} is not allowed: ${why}`, hint);
};

const check = (name: string, args: readonly string[]): Checked => {
  if (name === 'find') return checkFind(args);
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  return rule === undefined
    ? { refused: { argument: name, why: 'there is no table for it' } }
    : checkArguments(rule, args);
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
 * table allows them. Throws `program_not_allowed`, naming the argument.
 */
export const resolveProgram = (allowed: AllowedPrograms, argv: readonly string[]): ResolvedCommand => {
  const [name = '', ...args] = argv;
  const list = `Allowed programs: ${allowed.names.join(', ')}`;
  if (!allowed.names.includes(name)) throw notAllowed(`the program ${shown(name)} is not on the list`, list);
  if (argv.some((argument) => argument.includes('\0') || !argument.isWellFormed())) {
    throw notAllowed(`${name}: an argument holds characters that no argument can have`, list);
  }
  const checked = check(name, args);
  if ('refused' in checked) throw refuse(name, checked.refused);
  const place = placeOfProgram(name, allowed.directories);
  if (place === undefined) throw notAllowed(`the program ${name} is not installed on this executor`, list);
  return { command: [place, ...checked.args], env: RULES[name]?.env ?? {} };
};
