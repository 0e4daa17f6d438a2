import { type Checked, checkArguments } from './check-arguments.ts';
import { FILE_PROGRAMS } from './file-programs.ts';
import { checkFind } from './find-expression.ts';
import { LANGUAGE_PROGRAMS } from './language-programs.ts';
import type { ProgramRule } from './program-rule.ts';

const RULES: Readonly<Record<string, ProgramRule>> = { ...FILE_PROGRAMS, ...LANGUAGE_PROGRAMS };

/** Every program that has a table. */
export const KNOWN_PROGRAMS: readonly string[] = [...Object.keys(RULES), 'find'].sort();

/** The table of a program; `find` has a language of its own and none. */
export const ruleOf = (name: string): ProgramRule | undefined => (Object.hasOwn(RULES, name) ? RULES[name] : undefined);

/** Checks the arguments of a known program, its name not among them. Whatever its table does not hold is refused. */
export const checkProgram = (name: string, args: readonly string[]): Checked => {
  if (name === 'find') return checkFind(args);
  const rule = ruleOf(name);
  return rule === undefined
    ? { refused: { argument: name, why: 'there is no table for it' } }
    : checkArguments(rule, args);
};
