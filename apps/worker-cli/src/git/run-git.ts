import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { type ConfinedEnd, runConfined } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import type { OutputListener } from '../process/run-process.ts';
import { stopReason } from '../process/stop-reason.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import { isStill } from '../workspace/open-root.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { GIT_DIRECTORY, gitDirectory } from './git-directory.ts';
import { GIT_ENV, GIT_SETTINGS, settingArgs, WORK_TREE } from './git-settings.ts';

const ENV = { ...GIT_ENV, GIT_DIR: GIT_DIRECTORY };

/** Milliseconds of the call that are kept free for what comes after. */
export const SPARE_MS = 2_000;
/** Characters of what git says that are told. */
const MOST_SAID = 300;

/** Throws for every end but a good one, and one that the reader of the output made. */
export const refuseGitEnd = (end: ConfinedEnd, ctx: ToolContext): void => {
  if (end.ending === 'aborted') throw stopReason(ctx.signal);
  const [limit] = end.limits.keys();
  if (limit !== undefined && end.code !== 0)
    throw new FabricError('limit_reached', `git was ended by its limit: ${limit}`);
  if (end.ending !== 'exited' || end.code === 0) return;
  const said = ctx.redactor.text(end.errors).trim().split('\n').at(-1) ?? '';
  throw new FabricError('tool_failed', `git ended with exit code ${end.code}: ${said.slice(0, MOST_SAID)}`);
};

/**
 * Runs git on the repository of a workspace, read-only and confined, with no configuration but its own. Throws what
 * kept it from an answer; an early end by the reader of its output is none.
 */
export const runGit = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  args: readonly string[],
  onOutput: OutputListener,
): Promise<void> => {
  const { confinement } = driver.commands;
  const git = needProgram(confinement.programs, 'git');
  const repository = gitDirectory(workspace.root);
  const end = await runConfined(confinement, {
    command: [git, '--no-pager', ...settingArgs(GIT_SETTINGS), ...args],
    env: ENV,
    binds: [
      { source: confinement.etc, target: '/etc', writable: false },
      { source: workspace.root.path, target: WORK_TREE, writable: false },
      ...repository.binds,
    ],
    arrange: repository.arrange,
    cwd: WORK_TREE,
    user: workspace.record.child,
    timeMs: Math.max(1_000, ctx.limits.timeoutMs - SPARE_MS),
    signal: ctx.signal,
    onOutput,
  });
  if (!(await isStill(workspace.record.root, workspace.record.identity))) {
    throw new FabricError('workspace_missing', 'another directory stands where the workspace was');
  }
  refuseGitEnd(end, ctx);
};
