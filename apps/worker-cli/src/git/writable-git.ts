import { lstatSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isWholeWritable } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { runConfined } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import { descriptorPath, isStill, type OpenRoot } from '../workspace/open-root.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import type { WorkspaceLock } from '../workspace/workspace-lock.ts';
import { GIT_DIRECTORY } from './git-directory.ts';
import { GIT_ENV, GIT_SETTINGS, settingArgs, WORK_TREE } from './git-settings.ts';
import { type ObjectFormat, objectFormat } from './object-format.ts';
import { refuseGitEnd, SPARE_MS } from './run-git.ts';

/** What stands in the place of the configuration. */
const CONFIGS: Readonly<Record<ObjectFormat, string>> = {
  sha1: fileURLToPath(new URL('./empty.gitconfig', import.meta.url)),
  sha256: fileURLToPath(new URL('./sha256.gitconfig', import.meta.url)),
};

/** Its parts that must be what they are called: where a link stood, something else would be written. */
const DIRECTORIES = ['', '/objects', '/refs'];
const FILES = ['config', 'HEAD'];

const refused = (why: string): FabricError =>
  new FabricError('file_not_found', why, { hint: 'Use a workspace that holds an ordinary git repository of its own.' });

const kindOf = (path: string): 'directory' | 'file' | 'none' | 'other' => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'none';
  return stats.isDirectory() ? 'directory' : stats.isFile() ? 'file' : 'other';
};

/** Names of other places that objects are taken from. */
const BORROWED = ['objects/info/alternates', 'objects/info/http-alternates'];

/**
 * Throws `file_not_found` for what is no repository of the workspace alone, is made to lead elsewhere, or takes objects
 * from elsewhere: what is there is not shown to git, and a commit would build on what it cannot see.
 */
export const checkOwnRepository = (root: OpenRoot): void => {
  const at = `${descriptorPath(root.handle)}/.git`;
  if (kindOf(at) === 'none') throw refused('the workspace is no git repository');
  for (const part of DIRECTORIES)
    if (kindOf(at + part) !== 'directory') throw refused(`.git${part} of this workspace is no directory of its own`);
  if (kindOf(`${at}/objects/info`) === 'other') throw refused('.git/objects/info of this workspace is no directory');
  for (const part of BORROWED)
    if (kindOf(`${at}/${part}`) !== 'none')
      throw refused(`this repository takes objects from elsewhere (.git/${part})`);
  for (const part of FILES)
    if (kindOf(`${at}/${part}`) !== 'file') throw refused(`.git/${part} of this workspace is no file of its own`);
};

/** The router knows it too; who carries it out holds to it (PO-9). Throws `constraint_violated`. */
export const checkRepositoryWritable = ({ writable }: Pick<ToolContext, 'writable'>): void => {
  if (writable === undefined || isWholeWritable(writable, '.git')) return;
  throw new FabricError('constraint_violated', '.git/** is not writable in this task');
};

export interface GitWrite {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly lock: WorkspaceLock;
}

/**
 * Runs git with the repository of a workspace to write to and its files to read, confined, under the lock of the
 * workspace. Its configuration is hidden behind an empty one, so that hooks, filters, signing, helpers and monitors of
 * the repository are not known; its common directory is itself, whatever it says.
 */
export const writeGit = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  write: GitWrite,
): Promise<void> => {
  const { confinement } = driver.commands;
  const git = needProgram(confinement.programs, 'git');
  const { root, record } = workspace;
  checkOwnRepository(root);
  checkRepositoryWritable(ctx);
  const end = await runConfined(confinement, {
    command: [git, '--no-pager', ...settingArgs(GIT_SETTINGS), ...write.args],
    env: { ...GIT_ENV, GIT_DIR: GIT_DIRECTORY, GIT_COMMON_DIR: GIT_DIRECTORY, ...write.env },
    binds: [
      { source: confinement.etc, target: '/etc', writable: false },
      { source: root.path, target: WORK_TREE, writable: false },
      { source: `${root.path}/.git`, target: GIT_DIRECTORY, writable: true },
      {
        source: CONFIGS[objectFormat(`${descriptorPath(root.handle)}/.git`)],
        target: `${GIT_DIRECTORY}/config`,
        writable: false,
      },
    ],
    cwd: WORK_TREE,
    user: record.child,
    lock: write.lock.forRun(),
    timeMs: Math.max(1_000, ctx.limits.timeoutMs - SPARE_MS),
    signal: ctx.signal,
    onOutput: () => 'more',
  });
  if (end.survivors === 0) write.lock.isAloneAgain();
  if (!(await isStill(record.root, record.identity)))
    throw new FabricError('workspace_missing', 'another directory stands where the workspace was');
  refuseGitEnd(end, ctx);
};
