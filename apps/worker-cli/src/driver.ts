import type { WorkspaceRef } from '@toolfabric/contract';
import type { CommandSettings } from './command/command-settings.ts';
import { type CommandOptions, compileCommands } from './command/compile-commands.ts';
import { needProgram } from './sandbox/run-in-sandbox.ts';
import { makeLayout } from './workspace/layout.ts';
import { type OpenWorkspace, workspaceOpener } from './workspace/open-workspace.ts';
import { lockWorkspace, type WorkspaceLock } from './workspace/workspace-lock.ts';
import type { WorkspaceSettings } from './workspace/workspace-settings.ts';

/** The outside thing of this worker: workspaces on the disk, and system programs in sandboxes. */
export interface Driver {
  readonly settings: WorkspaceSettings;
  readonly commands: CommandSettings;
  /** Runs `use` on the workspace of a call, held open meanwhile. Throws `workspace_missing` and `workspace_refused`. */
  inWorkspace<T>(ref: WorkspaceRef | undefined, use: (workspace: OpenWorkspace) => Promise<T>): Promise<T>;
  /** Runs `use` under the kernel lock of the workspace (protocol 7 (c)). Throws `workspace_busy`. */
  underLock<T>(workspace: OpenWorkspace, signal: AbortSignal, use: (lock: WorkspaceLock) => Promise<T>): Promise<T>;
  /** Gives back what the commands were confined with. No call runs any more. */
  close(): Promise<void>;
}

export interface DriverOptions {
  /** Milliseconds to wait for the lock of a workspace. */
  readonly lockWaitMs: number;
  /** What commands may take; the defaults where a field is left out. */
  readonly commands?: Partial<CommandOptions>;
}

export const createDriver = async (settings: WorkspaceSettings, options: DriverOptions): Promise<Driver> => {
  await makeLayout(settings.layout);
  const openWorkspace = workspaceOpener(settings);
  const commands = await compileCommands(settings, options.commands ?? {});
  return {
    settings,
    commands,
    close: () => commands.confinement.close(),
    async inWorkspace(ref, use) {
      const workspace = await openWorkspace(ref);
      try {
        return await use(workspace);
      } finally {
        await workspace.close();
      }
    },
    async underLock(workspace, signal, use) {
      const flock = needProgram(settings.programs, 'flock');
      const { locks: directory } = settings.layout;
      const name = workspace.record.lock;
      const lock = await lockWorkspace({ directory, name, flock, waitMs: options.lockWaitMs, signal });
      try {
        return await use(lock);
      } finally {
        await lock.release();
      }
    },
  };
};
