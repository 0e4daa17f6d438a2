import type { Glob } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { type ConfinedEnd, runConfined } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import type { ProcessRequest } from '../process/run-process.ts';
import { stopReason } from '../process/stop-reason.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import { isStill } from '../workspace/open-root.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { TEMPORARY_PREFIX } from '../workspace/reserved-names.ts';

export interface RipgrepRequest {
  /** What is asked, as options. */
  readonly options: readonly string[];
  /** What follows `--`, before the path. */
  readonly operands: readonly string[];
  /** Resolved path beneath the workspace root; empty for the root. */
  readonly path: string;
  readonly glob: Glob | undefined;
  readonly onOutput: NonNullable<ProcessRequest['onOutput']>;
}

const LIMITS = { memoryBytes: 1024 ** 3, processes: 64, fileBytes: 0 };
/** Milliseconds of the call that are kept free for what comes after the search. */
const SPARE_MS = 2_000;

/** No configuration file, every ignore file of the workspace, hidden files but not the repository itself, one order. */
const FIXED = [
  '--no-config',
  '--sort=path',
  '--hidden',
  '--no-require-git',
  '--no-ignore-global',
  '--no-mmap',
  '--color=never',
  '--glob=!.git',
  `--glob=!${TEMPORARY_PREFIX}*`,
];

/** A positive `--glob` would overrule the ignore files; a file type does not. */
const typeOptions = (glob: Glob | undefined): string[] =>
  glob?.names === undefined ? [] : [...glob.names.map((name) => `--type-add=wanted:${name}`), '--type=wanted'];

const refuse = (end: ConfinedEnd, ctx: ToolContext): void => {
  if (end.ending === 'aborted') throw stopReason(ctx.signal);
  if (end.code === null && end.ending === 'exited')
    throw new FabricError('tool_failed', 'the search was ended by a signal');
};

/** The sandbox takes the workspace by its path: what was found in another directory is thrown away. */
const checkStill = async ({ record }: OpenWorkspace): Promise<void> => {
  if (await isStill(record.root, record.identity)) return;
  throw new FabricError('workspace_missing', 'another directory stands where the workspace was');
};

/** Runs ripgrep on the workspace in a sandbox, read-only. A timeout is an end like any other: what came is kept. */
export const runRipgrep = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  request: RipgrepRequest,
): Promise<ConfinedEnd> => {
  const { confinement } = driver.commands;
  const { programs } = confinement;
  const where = `./${request.path}`;
  await checkStill(workspace);
  const end = await runConfined(confinement, {
    command: [
      needProgram(programs, 'rg'),
      ...FIXED,
      ...typeOptions(request.glob),
      ...request.options,
      '--',
      ...request.operands,
      where,
    ],
    binds: [{ source: workspace.root.path, target: '/workspace', writable: false }],
    cwd: '/workspace',
    limits: LIMITS,
    user: workspace.record.child,
    onOutput: request.onOutput,
    timeMs: Math.max(1_000, ctx.limits.timeoutMs - SPARE_MS),
    signal: ctx.signal,
  });
  await checkStill(workspace);
  refuse(end, ctx);
  return end;
};

/** `./src/a.ts` as ripgrep writes it, as a path of the workspace. */
export const workspacePath = (path: string): string => (path.startsWith('./') ? path.slice(2) : path);
