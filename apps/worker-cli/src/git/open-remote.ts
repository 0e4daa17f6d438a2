import { lstatSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { runConfined } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import type { OutputListener, User } from '../process/run-process.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { openAllowed } from '../workspace/open-allowed.ts';
import { descriptorPath, identityOf, isStill } from '../workspace/open-root.ts';
import { showPath } from '../workspace/path-parts.ts';
import { NOBODY } from '../workspace/workspace-users.ts';
import { GIT_ENV, GIT_SETTINGS, settingArgs } from './git-settings.ts';
import { type ObjectFormat, objectFormat } from './object-format.ts';
import { refuseGitEnd, SPARE_MS } from './run-git.ts';

const REMOTE = '/remote';
const CONFIGS: Readonly<Record<ObjectFormat, string>> = {
  sha1: fileURLToPath(new URL('./remote.gitconfig', import.meta.url)),
  sha256: fileURLToPath(new URL('./remote-sha256.gitconfig', import.meta.url)),
};

/** A bare repository on this machine that may be pushed to. */
export interface Remote {
  /** Real path. */
  readonly path: string;
  /** Another directory put in its place is not it. */
  readonly identity: string;
  readonly format: ObjectFormat;
  /** Whose files they are, who writes them; undefined where the worker is not root. */
  readonly user: User | undefined;
}

const refused = (path: string, why: string): FabricError =>
  new FabricError('denied_by_policy', `${showPath(path)} ${why}`, {
    hint: 'Push to a bare repository below one of the directories that the operator allows (TOOLFABRIC_GIT_REMOTES).',
  });

const PARTS: readonly [string, 'isDirectory' | 'isFile'][] = [
  ['objects', 'isDirectory'],
  ['refs', 'isDirectory'],
  ['HEAD', 'isFile'],
  ['config', 'isFile'],
];

/** Who writes there. What belongs to root is written as root by nobody here: a child is never root. */
const writerOf = (
  path: string,
  { uid, gid }: User,
  { worker, allowRootOwned }: Driver['settings'],
): User | undefined => {
  if (worker.uid !== 0) return undefined;
  if (uid !== 0) return { uid, gid: gid === 0 ? NOBODY.gid : gid };
  if (!allowRootOwned) throw refused(path, 'belongs to root');
  return NOBODY;
};

/** Throws `denied_by_policy` for what no operator allowed, and for what is no bare repository. */
export const openRemote = async ({ settings, remotes }: Driver, path: string): Promise<Remote> => {
  if (remotes.length === 0) throw refused(path, 'cannot be pushed to: no directory of remotes is configured');
  const rules = { roots: remotes, protectedDirs: [settings.layout.state], cloneSources: [] };
  const directory = await openAllowed(path, rules).catch((thrown: unknown) => {
    if (thrown instanceof FabricError) throw refused(path, 'is no repository that may be pushed to');
    throw thrown;
  });
  try {
    for (const [part, is] of PARTS) {
      const stats = lstatSync(`${descriptorPath(directory.handle)}/${part}`, { throwIfNoEntry: false });
      if (stats?.[is]() !== true) throw refused(path, 'is no bare repository');
    }
    const { uid, gid } = await directory.handle.stat();
    const user = writerOf(path, { uid, gid }, settings);
    const format = objectFormat(descriptorPath(directory.handle));
    return { path: directory.path, identity: await identityOf(directory.handle), format, user };
  } finally {
    await directory.handle.close();
  }
};

export interface RemoteCommand {
  readonly args: readonly string[];
  readonly writable: boolean;
  readonly binds?: readonly Bind[];
  readonly onOutput?: OutputListener;
}

/**
 * Runs git on the remote repository, confined, as its owner, with nothing else of the machine inside. Its configuration
 * is hidden behind one that starts nothing: no hook, no filter, no helper.
 */
export const runAtRemote = async (
  driver: Driver,
  remote: Remote,
  ctx: ToolContext,
  command: RemoteCommand,
): Promise<void> => {
  const { confinement } = driver.commands;
  const git = needProgram(confinement.programs, 'git');
  const { GIT_WORK_TREE: _none, ...env } = GIT_ENV;
  const settings = [...GIT_SETTINGS.filter((setting) => setting !== 'protocol.allow=never'), 'fetch.fsckObjects=true'];
  if (!(await isStill(remote.path, remote.identity))) throw refused(remote.path, 'was exchanged meanwhile');
  const end = await runConfined(confinement, {
    command: [git, '--no-pager', ...settingArgs(settings), ...command.args],
    env: { ...env, GIT_DIR: REMOTE, GIT_COMMON_DIR: REMOTE, GIT_ALLOW_PROTOCOL: 'file' },
    binds: [
      { source: confinement.etc, target: '/etc', writable: false },
      { source: remote.path, target: REMOTE, writable: command.writable },
      { source: CONFIGS[remote.format], target: `${REMOTE}/config`, writable: false },
      ...(command.binds ?? []),
    ],
    cwd: REMOTE,
    user: remote.user,
    timeMs: Math.max(1_000, ctx.limits.timeoutMs - SPARE_MS),
    signal: ctx.signal,
    onOutput: command.onOutput ?? (() => 'more'),
  });
  refuseGitEnd(end, ctx);
};

/** The commit of a ref over there; undefined where there is none. */
export const readRemoteRef = async (
  driver: Driver,
  remote: Remote,
  ctx: ToolContext,
  ref: string,
): Promise<string | undefined> => {
  let text = '';
  await runAtRemote(driver, remote, ctx, {
    args: ['for-each-ref', '--format=%(objectname) %(refname)', ref],
    writable: false,
    onOutput: (chunk) => {
      text += chunk.toString('utf8');
      return text.length > 65_536 ? 'enough' : 'more';
    },
  });
  return text
    .split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ', 1)[0];
};

/** Whether a commit is there and lies below another one. */
export const isBelow = async (
  driver: Driver,
  remote: Remote,
  ctx: ToolContext,
  commit: string,
  tip: string,
): Promise<boolean> => {
  try {
    await runAtRemote(driver, remote, ctx, { args: ['merge-base', '--is-ancestor', commit, tip], writable: false });
    return true;
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'tool_failed') return false;
    throw thrown;
  }
};
