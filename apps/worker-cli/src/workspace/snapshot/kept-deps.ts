import type { Logger } from '@toolfabric/kernel';
import type { Confinement } from '../../confine/confinement.ts';
import type { WorkspaceOpener } from '../open-workspace.ts';
import type { WorkspaceLock } from '../workspace-lock.ts';
import type { WorkspaceSettings } from '../workspace-settings.ts';
import type { SnapshotLimits } from './snapshot-limits.ts';

export interface KeptDeps {
  readonly settings: WorkspaceSettings;
  readonly opener: WorkspaceOpener;
  readonly confinement: Confinement;
  readonly limits: SnapshotLimits;
  readonly log: Logger;
  /** Takes a kernel lock by its name. Throws `workspace_busy`. */
  lock(name: string, signal: AbortSignal): Promise<WorkspaceLock>;
}
