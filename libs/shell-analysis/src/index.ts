export { type Checked, checkArguments } from './programs/check-arguments.ts';
export { checkProgram, KNOWN_PROGRAMS, ruleOf } from './programs/check-program.ts';
export { parseOptions } from './programs/option-spec.ts';
export type { ProgramRule, Refusal } from './programs/program-rule.ts';
