import type { Programs } from '../process/find-program.ts';
import type { User } from '../process/run-process.ts';
import type { Layout } from './layout.ts';
import type { UserRange } from './workspace-users.ts';

/** The state of this worker is always protected. */
export const protectedBy = ({
  layout,
  protectedDirs,
}: Pick<WorkspaceSettings, 'layout' | 'protectedDirs'>): string[] => [layout.state, ...protectedDirs];

/** What the workspaces of this worker are governed by; compiled once. */
export interface WorkspaceSettings {
  readonly layout: Layout;
  readonly roots: readonly string[];
  /** What no task may see, beside the state of this worker. */
  readonly protectedDirs: readonly string[];
  /** Directories inside protected ones that may be cloned nevertheless. */
  readonly cloneSources: readonly string[];
  readonly allowRootOwned: boolean;
  /** User ids for clones and empty workspaces. */
  readonly users: UserRange;
  /** Who the worker itself runs as. */
  readonly worker: User;
  readonly programs: Programs;
}
