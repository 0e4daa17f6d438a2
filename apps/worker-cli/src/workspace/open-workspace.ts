import type { WorkspaceRef } from '@toolfabric/contract';
import { canonicalJson, FabricError } from '@toolfabric/kernel';
import type { Layout } from './layout.ts';
import { belongsToInstallation, isProtected } from './open-allowed.ts';
import { identityOf, type OpenRoot, openDirectory } from './open-root.ts';
import { readRecord, type WorkspaceRecord } from './workspace-record.ts';
import { protectedBy, type WorkspaceSettings } from './workspace-settings.ts';

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

const MOST_REMEMBERED = 1_000;

/** Records that were read; one changes only when its workspace is restored, and whether the directory still is the one is looked at each time. */
const remembering = (layout: Layout) => {
  const known = new Map<string, WorkspaceRecord>();
  return {
    forget: (id: string) => void known.delete(id),
    async get(id: string): Promise<WorkspaceRecord | undefined> {
      const record = known.get(id) ?? (await readRecord(layout, id));
      if (record !== undefined && !known.has(id)) {
        if (known.size >= MOST_REMEMBERED) known.clear();
        known.set(id, record);
      }
      return record;
    },
  };
};

export interface WorkspaceOpener {
  /** Throws `workspace_missing` and `workspace_refused`. */
  open(ref: WorkspaceRef | undefined): Promise<OpenWorkspace>;
  /** After the record of a workspace was written anew. */
  forget(id: string): void;
}

/**
 * Opens the workspace that a call belongs to. What was protected only after it was prepared is protected from it all
 * the same.
 */
export const workspaceOpener = (settings: Pick<WorkspaceSettings, 'layout' | 'protectedDirs'>): WorkspaceOpener => {
  const records = remembering(settings.layout);
  const protectedDirs = protectedBy(settings);
  return {
    forget: records.forget,
    async open(ref) {
      if (ref === undefined) throw missing('the task has no workspace');
      const record = await records.get(ref.id);
      if (record === undefined || canonicalJson(record.source) !== canonicalJson(ref.source)) {
        throw missing('the workspace was not prepared on this executor');
      }
      if (record.source.type === 'existing' && (await isProtected(record.root, { protectedDirs }))) {
        throw belongsToInstallation(record.root);
      }
      const root = await openRoot(record);
      return { record, root, origin: `workspace:${ref.id}`, close: () => root.handle.close() };
    },
  };
};
