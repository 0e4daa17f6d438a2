import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { analyseShell, digestOfAnalysis, type ShellAnalysis } from '@toolfabric/shell-analysis';

/** The handler whose argument `script` is a text for a shell. */
const SHELL = 'shell.run';
/** The handler whose argument `argv` begins with a program. */
const PROGRAM = 'process.run';

/** The call's programs and written paths come out of a shell text among its arguments. */
export const readsShell = ({ execution }: ToolContract): boolean => execution.handler === SHELL;

/** The call's arguments name programs. */
export const startsPrograms = ({ execution }: ToolContract): boolean =>
  execution.handler === SHELL || execution.handler === PROGRAM;

type Args = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What the shell text among the arguments means; undefined where the tool takes none. */
const shellAnalysisOf = (contract: ToolContract, { script, cwd }: Args): ShellAnalysis | undefined =>
  readsShell(contract) ? analyseShell(textOf(script), { cwd: textOf(cwd) || '.' }) : undefined;

/** Travels with a call, so that its worker runs nothing that was understood in another way. */
export const shellDigest = (contract: ToolContract, args: Args): { readonly analysis?: string } => {
  const analysis = shellAnalysisOf(contract, args);
  return analysis === undefined ? {} : { analysis: digestOfAnalysis(analysis) };
};

export interface ProgramFacts {
  readonly programs: readonly string[];
  readonly writes: readonly string[];
}

/**
 * Programs that a call starts, and paths of the workspace that they may write as far as that is known before. Throws
 * `shell_refused` for a text that is never run.
 */
export const programFacts = (contract: ToolContract, args: Args): ProgramFacts => {
  const { argv } = args;
  if (contract.execution.handler === PROGRAM && Array.isArray(argv)) return { programs: [textOf(argv[0])], writes: [] };
  const analysis = shellAnalysisOf(contract, args);
  if (analysis?.verdict === 'deny') throw new FabricError('shell_refused', `the text is never run: ${analysis.why}`);
  return analysis?.facts ?? { programs: [], writes: [] };
};

const list = (names: readonly string[]): string => names.join(', ');

/** What is shown of a shell text to whoever has to say yes to it: how it will run, and why not without a shell. */
export const shellMeaning = (contract: ToolContract, args: Args): string | undefined => {
  const analysis = shellAnalysisOf(contract, args);
  if (analysis === undefined || analysis.verdict === 'deny') return undefined;
  if (analysis.verdict === 'ask') return `bash reads the text, since it holds ${analysis.node}: ${analysis.why}`;
  const { programs, writes } = analysis.facts;
  const written =
    writes.length === 0
      ? 'nothing of the workspace'
      : writes.includes('.')
        ? 'anything in the workspace'
        : list(writes);
  return `without a shell: ${list(programs)}; may write ${written}`;
};
