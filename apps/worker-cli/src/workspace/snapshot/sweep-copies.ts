import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@toolfabric/kernel';
import type { WorkspaceOpener } from '../open-workspace.ts';
import type { WorkspaceLock } from '../workspace-lock.ts';
import { readRecord, removeRecord } from '../workspace-record.ts';
import type { WorkspaceSettings } from '../workspace-settings.ts';
import { listCopies, removeCopyState, usedAt } from './copy-state.ts';
import type { OldTrees } from './old-trees.ts';

/** Milliseconds after its last use after which a copy is removed: its snapshot brings it back. */
export const UNUSED_MS = 24 * 3_600_000;

export interface SweepDeps {
  readonly settings: WorkspaceSettings;
  readonly opener: WorkspaceOpener;
  readonly oldTrees: OldTrees;
  readonly log: Logger;
  lock(name: string, signal: AbortSignal): Promise<WorkspaceLock>;
}

const isUnused = async ({ settings }: SweepDeps, id: string): Promise<boolean> => {
  const at = await usedAt(settings.layout, id).catch(() => undefined);
  return at !== undefined && Date.now() - at > UNUSED_MS;
};

/** The user id goes with the copy; the next copy takes one anew. */
const freeUser = async ({ settings }: SweepDeps, id: string, uid: number): Promise<void> => {
  const file = join(settings.layout.users, String(uid));
  if ((await readFile(file, 'utf8').catch(() => '')) === id) await rm(file, { force: true });
};

const removeCopy = async (deps: SweepDeps, id: string): Promise<void> => {
  const { layout } = deps.settings;
  const record = await readRecord(layout, id);
  // The state goes last: a sweep that dies on the way is repeated.
  if (record !== undefined && record.source.type !== 'existing') {
    await removeRecord(layout, id);
    deps.opener.forget(id);
    await deps.oldTrees.discard(record.root, record.identity);
    if (record.child) await freeUser(deps, id, record.child.uid);
  }
  await removeCopyState(layout, id);
  deps.log.info('workspace.copy_removed', { workspace: id });
};

const sweepOne = async (deps: SweepDeps, id: string): Promise<void> => {
  if (!(await isUnused(deps, id))) return;
  const lock = await deps.lock(`tree-${id}`, AbortSignal.timeout(2_000));
  try {
    if (await isUnused(deps, id)) await removeCopy(deps, id);
  } finally {
    await lock.release();
  }
};

/** Removes copies that nobody has used for a day. One that is in use, or fails, is left for the next time. */
export const sweepCopies = async (deps: SweepDeps): Promise<void> => {
  for (const id of await listCopies(deps.settings.layout)) {
    await sweepOne(deps, id).catch(() => deps.log.warn('workspace.copy_not_removed', { workspace: id }));
  }
};

const LEFTOVER = /^(restore|old)-/;

/** Trees that a worker which died had not put in their place, or not taken away yet. Before anything runs. */
export const removeLeftTrees = async ({ layout }: Pick<WorkspaceSettings, 'layout'>): Promise<void> => {
  for (const name of await readdir(layout.staging)) {
    if (LEFTOVER.test(name)) await rm(join(layout.staging, name), { recursive: true, force: true });
  }
};
