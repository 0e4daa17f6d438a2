import { chmod, chown, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceRef } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { identityAt, identityOf, openDirectory } from '../open-root.ts';
import { newUser } from '../prepare-workspace.ts';
import { type WorkspaceRecord, writeRecord } from '../workspace-record.ts';
import type { WorkspaceSettings } from '../workspace-settings.ts';
import { writeCopyState } from './copy-state.ts';
import type { Snapshot } from './manifest.ts';
import type { OldTrees } from './old-trees.ts';
import { restoreTree } from './restore-tree.ts';
import { descriptorOf } from './root-place.ts';

export interface CopyRequest {
  readonly settings: WorkspaceSettings;
  readonly ref: WorkspaceRef;
  readonly session: ArtifactSession;
  readonly snapshot: Snapshot;
  readonly oldTrees: OldTrees;
  readonly ctx: Pick<ToolContext, 'signal' | 'faults'>;
}

/** Beside `staging/<id>` of a workspace that is being prepared; whatever a dead worker left is thrown away at start. */
const stagingOf = ({ settings, ref }: CopyRequest): string =>
  join(settings.layout.staging, `restore-${ref.id}-${randomId()}`);

const openOlder = (root: string) => openDirectory(root).catch(() => undefined);

const fill = async (request: CopyRequest, target: string, root: string): Promise<void> => {
  const { settings, ref, session, snapshot, ctx } = request;
  const owner = await newUser(settings, ref.id);
  const older = await openOlder(root);
  try {
    await restoreTree({
      session,
      snapshot,
      target,
      owner,
      older: older && descriptorOf({ handle: older, path: root }),
      signal: ctx.signal,
      onFile: () => ctx.faults.at('restore.writing'),
    });
  } finally {
    await older?.close();
  }
  await chmod(target, 0o700);
  if (owner) await chown(target, owner.uid, owner.gid);
};

const identityIfThere = async (root: string): Promise<string | undefined> => {
  const handle = await openOlder(root);
  if (handle === undefined) return undefined;
  try {
    return await identityOf(handle);
  } finally {
    await handle.close();
  }
};

/**
 * Makes the copy on this disk the one of a snapshot, under the lock of the workspace: beside the old one, checked, and
 * then in its place. Until then the old copy is untouched; from then until the mark of the new one is written the
 * state says that the copy counts for nothing.
 */
export const restoreCopy = async (request: CopyRequest): Promise<WorkspaceRecord> => {
  const { settings, ref, snapshot, oldTrees, ctx } = request;
  const { layout } = settings;
  const root = join(layout.workspaces, ref.id);
  const target = stagingOf(request);
  await mkdir(target, { mode: 0o700 });
  try {
    await fill(request, target, root);
    ctx.faults.at('restore.written');
    await writeCopyState(layout, ref.id, { clean: false });
    await oldTrees.discard(root, await identityIfThere(root));
    ctx.faults.at('restore.swapping');
    await rename(target, root);
  } catch (thrown) {
    await rm(target, { recursive: true, force: true });
    throw thrown;
  }
  const user = await newUser(settings, ref.id);
  const record: WorkspaceRecord = {
    ...ref,
    root,
    identity: await identityAt(root),
    owner: user ?? settings.worker,
    ...(user && { child: user }),
    lock: `tree-${ref.id}`,
  };
  await writeRecord(layout, record);
  await writeCopyState(layout, ref.id, { clean: true, manifest: snapshot.id });
  return record;
};
