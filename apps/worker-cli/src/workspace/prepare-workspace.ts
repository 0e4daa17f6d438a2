import { chmod, chown, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceRef } from '@toolfabric/contract';
import { canonicalJson, FabricError, shortHash } from '@toolfabric/kernel';
import type { Redactor } from '@toolfabric/worker-runtime';
import type { Confinement } from '../confine/confinement.ts';
import type { User } from '../process/run-process.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import { cloneRepository } from './clone-repository.ts';
import { usersOfDirectory } from './existing-directory.ts';
import { type DirectoryRules, openAllowed } from './open-allowed.ts';
import { identityAt, identityOf } from './open-root.ts';
import { lockWorkspace } from './workspace-lock.ts';
import { isWorkspaceId, readRecord, type WorkspaceRecord, writeRecord } from './workspace-record.ts';
import { protectedBy, type WorkspaceSettings } from './workspace-settings.ts';
import { userOfWorkspace } from './workspace-users.ts';

export interface PrepareLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What a clone runs in. */
  readonly confinement: Confinement;
  /** What git says goes through it. */
  readonly redactor: Redactor;
}

/** An existing directory has no exceptions: only a clone may take what lies inside a protected one. */
const rulesFor = (settings: WorkspaceSettings, cloneSources: readonly string[]): DirectoryRules => ({
  roots: settings.roots,
  protectedDirs: protectedBy(settings),
  cloneSources,
});

const useDirectory = async (settings: WorkspaceSettings, ref: WorkspaceRef, path: string): Promise<WorkspaceRecord> => {
  const directory = await openAllowed(path, rulesFor(settings, []));
  await using handle = directory.handle;
  const { owner, child } = await usersOfDirectory(directory, settings);
  const identity = await identityOf(handle);
  const root = directory.path;
  return { ...ref, root, identity, owner, ...(child && { child }), lock: `directory-${shortHash(root)}` };
};

/** The user of a directory that this worker makes, or undefined where it stays the worker's. */
export const newUser = async (settings: WorkspaceSettings, id: string): Promise<User | undefined> =>
  settings.worker.uid === 0 ? userOfWorkspace(settings.layout, settings.users, id) : undefined;

const exists = (path: string): Promise<boolean> =>
  identityAt(path).then(
    () => true,
    () => false,
  );

/** Made aside and renamed when it is whole; what a dead worker left aside is thrown away. */
const makeDirectory = async (
  settings: WorkspaceSettings,
  ref: WorkspaceRef,
  fill: (target: string, user: User | undefined) => Promise<void>,
): Promise<WorkspaceRecord> => {
  const root = join(settings.layout.workspaces, ref.id);
  const user = await newUser(settings, ref.id);
  if (!(await exists(root))) {
    const aside = join(settings.layout.staging, ref.id);
    await rm(aside, { recursive: true, force: true });
    await mkdir(aside, { mode: 0o700 });
    await chmod(aside, 0o700);
    if (user) await chown(aside, user.uid, user.gid);
    await fill(aside, user).catch(async (thrown: unknown) => {
      await rm(aside, { recursive: true, force: true });
      throw thrown;
    });
    await rename(aside, root);
  }
  const owner = user ?? settings.worker;
  return {
    ...ref,
    root,
    identity: await identityAt(root),
    owner,
    ...(user && { child: user }),
    lock: `tree-${ref.id}`,
  };
};

const make = async (
  settings: WorkspaceSettings,
  ref: WorkspaceRef,
  limits: PrepareLimits,
): Promise<WorkspaceRecord> => {
  if (ref.source.type === 'existing') return useDirectory(settings, ref, ref.source.path);
  if (ref.source.type === 'empty') return makeDirectory(settings, ref, async () => {});
  const { handle, path: source } = await openAllowed(ref.source.path, rulesFor(settings, settings.cloneSources));
  await using held = handle;
  const identity = await identityOf(held);
  return await makeDirectory(settings, ref, (target, user) =>
    cloneRepository({ source, identity, target, user, ...limits }),
  );
};

/** Milliseconds to wait for another delivery that prepares the same workspace. */
const WAIT_MS = 10_000;

/**
 * Makes the workspace of a task ready, or finds it ready: safe to run again after any death, and safe to run twice at
 * once. The record, outside of the workspace, is written last. Throws `workspace_missing`, `workspace_refused`,
 * `workspace_busy` and `sandbox_unavailable`.
 */
export const prepareWorkspace = async (
  settings: WorkspaceSettings,
  ref: WorkspaceRef,
  limits: PrepareLimits,
): Promise<WorkspaceRecord> => {
  if (!isWorkspaceId(ref.id)) throw new FabricError('workspace_refused', 'the workspace has no valid id');
  const lock = await lockWorkspace({
    directory: settings.layout.locks,
    name: `prepare-${ref.id}`,
    flock: needProgram(settings.programs, 'flock'),
    waitMs: WAIT_MS,
    signal: limits.signal,
  });
  try {
    const before = await readRecord(settings.layout, ref.id);
    if (before && canonicalJson(before.source) !== canonicalJson(ref.source)) {
      throw new FabricError('workspace_refused', 'this workspace was made from another source');
    }
    if (before && (await identityAt(before.root).catch(() => '')) === before.identity) return before;
    if (before) throw new FabricError('workspace_missing', 'the workspace was prepared before, and is gone');
    const record = await make(settings, ref, limits);
    await writeRecord(settings.layout, record);
    return record;
  } finally {
    await lock.release();
  }
};
