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

const WORK_TREE = '/workspace';

const ENV: Readonly<Record<string, string>> = {
  GIT_DIR: GIT_DIRECTORY,
  GIT_WORK_TREE: WORK_TREE,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: '',
  GIT_PAGER: 'cat',
};

/** Once more by name, whatever a later git may read from elsewhere. */
const SETTINGS = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.pager=cat',
  'core.quotePath=false',
  'core.sshCommand=false',
  'credential.helper=',
  'protocol.allow=never',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
  'status.submoduleSummary=false',
  'gc.auto=0',
  'maintenance.auto=false',
];

/** Milliseconds of the call that are kept free for what comes after. */
const SPARE_MS = 2_000;

const refuse = (end: ConfinedEnd, ctx: ToolContext): void => {
  if (end.ending === 'aborted') throw stopReason(ctx.signal);
  const [limit] = end.limits.keys();
  if (limit !== undefined && end.code !== 0)
    throw new FabricError('limit_reached', `git was ended by its limit: ${limit}`);
  if (end.ending !== 'exited' || end.code === 0) return;
  const said = end.errors.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
  throw new FabricError('tool_failed', `git ended with exit code ${end.code}: ${said}`);
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
    command: [git, '--no-pager', ...SETTINGS.flatMap((setting) => ['-c', setting]), ...args],
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
  refuse(end, ctx);
};
