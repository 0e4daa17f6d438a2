import { FabricError } from '@toolfabric/kernel';
import {
  analyseShell,
  digestOfAnalysis,
  PLAN_RUNNER,
  planWords,
  type ShellAnalysis,
  type ShellCommand,
  type StartedCommand,
} from '@toolfabric/shell-analysis';
import {
  type AllowedPrograms,
  placeOfProgram,
  type Redact,
  type ResolvedCommand,
  resolveProgram,
} from '../programs/resolve-program.ts';

/** The constant text of a plan is run by this, inside of the sandbox. */
const SHELL = '/bin/sh';
const BASH = { name: 'bash', directories: ['/usr/bin', '/bin'] } as const;

export interface ShellCall {
  readonly script: string;
  /** Directory of the workspace that the text runs in. */
  readonly cwd: string;
  /** The yes of a person, bound to the bytes of the text by the hash of the arguments. */
  readonly approval: string | undefined;
  /** Digest of what the router understood. */
  readonly analysis: string | undefined;
  /** What a refusal quotes of the text goes through it. */
  readonly redact?: Redact;
}

export interface ResolvedShell {
  readonly mode: 'plan' | 'bash';
  readonly resolved: ResolvedCommand;
}

const refused = (message: string): FabricError => new FabricError('shell_refused', message);

/** Checked a second time, by the list of this executor. */
const startOf =
  (allowed: AllowedPrograms, redact: Redact | undefined) =>
  ({ argv }: ShellCommand): StartedCommand => {
    const { command, env } = resolveProgram(allowed, argv, redact);
    return { words: command, env };
  };

const bashOf = (script: string): ResolvedCommand => {
  const place = placeOfProgram(BASH.name, BASH.directories);
  if (place === undefined) throw new FabricError('sandbox_unavailable', 'bash is not installed on this executor');
  return { command: [place, '--noprofile', '--norc', '-c', script], env: {} };
};

const resolve = (allowed: AllowedPrograms, analysis: ShellAnalysis, call: ShellCall): ResolvedShell => {
  if (analysis.verdict === 'deny') throw refused(`the text is never run: ${analysis.why}`);
  if (analysis.verdict === 'run') {
    const words = planWords(analysis.pipelines, startOf(allowed, call.redact));
    return { mode: 'plan', resolved: { command: [SHELL, '-c', PLAN_RUNNER, 'plan', ...words], env: {} } };
  }
  if (call.approval === undefined)
    throw refused(`${analysis.node}: ${analysis.why}; a person has to say yes to it, and nobody has`);
  return { mode: 'bash', resolved: bashOf(call.script) };
};

/**
 * What is started for a shell text. A text that means plain programs is carried out as the plan that it was analysed
 * to; another goes to bash as it stands, with the yes of a person only. What runs is what the router understood when
 * it decided. Throws `shell_refused`, `program_not_allowed`.
 */
export const resolveShell = (allowed: AllowedPrograms, call: ShellCall): ResolvedShell => {
  const analysis = analyseShell(call.script, { cwd: call.cwd });
  if (call.analysis !== undefined && call.analysis !== digestOfAnalysis(analysis))
    throw refused('this executor reads the text differently from the router that decided about it');
  return resolve(allowed, analysis, call);
};
