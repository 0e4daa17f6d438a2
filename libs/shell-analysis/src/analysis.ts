/** How a program's descriptor is connected, in the order of the text. */
export type ShellRedirect =
  | { readonly fd: 0 | 1 | 2; readonly mode: 'read' | 'write' | 'append'; readonly path: string }
  | { readonly fd: 0 | 1 | 2; readonly mode: 'same'; readonly as: 0 | 1 | 2 };

/** One program with its arguments, exactly as bash would start it. */
export interface ShellCommand {
  /** The name, then the arguments as they stand in the text. */
  readonly argv: readonly [name: string, ...args: string[]];
  /** What is passed on: every option by its full name, so that the program reads what was read here. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly redirects: readonly ShellRedirect[];
}

/** Programs that run at once, each reading what the one before it writes. */
export interface ShellPipeline {
  /** When it runs, by the end of what ran last before it. */
  readonly when: 'always' | 'after_success' | 'after_failure';
  readonly commands: readonly [ShellCommand, ...ShellCommand[]];
}

/** What a policy may ask about a text. */
export interface ShellFacts {
  /** Names of programs, sorted; `bash` where the text itself would run. */
  readonly programs: readonly string[];
  /** Paths relative to the workspace root that may be written, each with everything below it; `.` is all of it. */
  readonly writes: readonly string[];
}

/**
 * The final meaning of a shell text. `run`: nothing in it is left to a shell. `ask`: `node` names the first thing that
 * only a shell can give a meaning to, or that no table knows. `deny`: it is never run.
 */
export type ShellAnalysis =
  | { readonly verdict: 'run'; readonly pipelines: readonly ShellPipeline[]; readonly facts: ShellFacts }
  | { readonly verdict: 'ask'; readonly node: string; readonly why: string; readonly facts: ShellFacts }
  | { readonly verdict: 'deny'; readonly why: string };

/** Past any of these a text is denied. */
export const SHELL_LIMITS = { bytes: 8_192, nodes: 4_000, depth: 48, words: 600, commands: 64 } as const;
