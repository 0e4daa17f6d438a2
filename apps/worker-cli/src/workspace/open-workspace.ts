import type { WorkspaceRef } from '@toolfabric/contract';
import { digestOf, FabricError } from '@toolfabric/kernel';
import { identityOf, type OpenRoot, openDirectory } from './open-root.ts';
import { readRecord, type WorkspaceRecord } from './workspace-record.ts';
import type { WorkspaceSettings } from './workspace-settings.ts';

/** A workspace in use: its root is held open, so that it cannot be exchanged. */
export interface OpenWorkspace {
  readonly record: WorkspaceRecord;
  readonly root: OpenRoot;
  /** Origin of everything that is read from it. */
  readonly origin: string;
  close(): Promise<void>;
}

const missing = (message: string, cause?: unknown): FabricError =>
  new FabricError('workspace_missing', message, { cause });

const openRoot = async (record: WorkspaceRecord): Promise<OpenRoot> => {
  const handle = await openDirectory(record.root).catch((thrown: unknown) => {
    throw missing('the directory of the workspace is gone', thrown);
  });
  if ((await identityOf(handle)) === record.identity) return { handle, path: record.root, owner: record.owner };
  await handle.close();
  throw missing('another directory stands where the workspace was');
};

/** Opens the workspace that the call belongs to. Throws `workspace_missing`. */
export const openWorkspace = async (
  settings: WorkspaceSettings,
  ref: WorkspaceRef | undefined,
): Promise<OpenWorkspace> => {
  if (ref === undefined) throw missing('the task has no workspace');
  const record = await readRecord(settings.layout, ref.id);
  if (record === undefined || digestOf(record.source) !== digestOf(ref.source)) {
    throw missing('the workspace was not prepared on this executor');
  }
  const root = await openRoot(record);
  return { record, root, origin: `workspace:${ref.id}`, close: () => root.handle.close() };
};
