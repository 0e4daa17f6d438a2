import { type ParsedScript, parse } from 'unbash';
import type { ShellAnalysis } from './analysis.ts';
import { checkCharacters } from './check-characters.ts';
import { type CommandRules, checkCommands } from './check-commands.ts';
import { checkProgram, KNOWN_PROGRAMS } from './programs/check-program.ts';
import { readScript } from './read-script.ts';
import { Asked, Denied } from './verdicts.ts';
import { walkTree } from './walk-tree.ts';

/** What may happen where the text itself runs: anything in the workspace. */
const UNKNOWN = { programs: ['bash'], writes: ['.'] };

const parseText = (text: string): ParsedScript => {
  try {
    return parse(text);
  } catch {
    throw new Denied('it cannot be parsed');
  }
};

const analyse = (text: string, rules: CommandRules): ShellAnalysis => {
  checkCharacters(text);
  const script = parseText(text);
  walkTree(script);
  if (script.commands.length === 0) throw new Denied('it holds no command');
  return { verdict: 'run', ...checkCommands(readScript(text, script), rules) };
};

/**
 * The final meaning of a text for bash. The parser decides what runs without a shell, what a person has to see and what
 * never runs; it is no boundary: the sandbox is. Pure, and never throws: a text that cannot be read is denied.
 */
export const analyseShell = (text: string, rules: Partial<CommandRules> = {}): ShellAnalysis => {
  try {
    return analyse(text, { programs: KNOWN_PROGRAMS, check: checkProgram, cwd: '.', ...rules });
  } catch (thrown) {
    if (thrown instanceof Denied) return { verdict: 'deny', why: thrown.message };
    if (thrown instanceof Asked) return { verdict: 'ask', node: thrown.node, why: thrown.message, facts: UNKNOWN };
    return { verdict: 'deny', why: 'it could not be analysed' };
  }
};
