export { analyseShell } from './analyse-shell.ts';
export {
  SHELL_LIMITS,
  type ShellAnalysis,
  type ShellCommand,
  type ShellFacts,
  type ShellPipeline,
  type ShellRedirect,
} from './analysis.ts';
export type { CommandRules } from './check-commands.ts';
export { digestOfAnalysis } from './digest-of-analysis.ts';
export { PLAN_RUNNER, planWords, type StartedCommand } from './plan-words.ts';
export { type Checked, checkArguments } from './programs/check-arguments.ts';
export { checkProgram, KNOWN_PROGRAMS, ruleOf } from './programs/check-program.ts';
export { parseOptions } from './programs/option-spec.ts';
export type { ProgramRule, Refusal } from './programs/program-rule.ts';
export { placeOfPath } from './workspace-path.ts';
