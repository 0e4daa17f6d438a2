import type { Outcome } from '@toolfabric/contract';
import { FabricError, type Json, type Logger, silentLogger } from '@toolfabric/kernel';
import { parseProbeCallId } from '@toolfabric/ledger';
import type { ProbeAnswer, ToolContext } from '@toolfabric/worker-runtime';
import type { CommandSettings } from './command/command-settings.ts';
import { type CommandOptions, compileCommands } from './command/compile-commands.ts';
import { unseenOutside } from './command/probe-run.ts';
import { needProgram } from './sandbox/run-in-sandbox.ts';
import { checkBoundFiles } from './workspace/check-bound-files.ts';
import { makeLayout } from './workspace/layout.ts';
import { type OpenWorkspace, type WorkspaceOpener, workspaceOpener } from './workspace/open-workspace.ts';
import { prepareWorkspace } from './workspace/prepare-workspace.ts';
import { type Changing, KeptWorkspaces } from './workspace/snapshot/kept-workspaces.ts';
import { SNAPSHOT_LIMITS, type SnapshotLimits } from './workspace/snapshot/snapshot-limits.ts';
import { removeLeftTrees, sweepCopies } from './workspace/snapshot/sweep-copies.ts';
import { lockWorkspace, type WorkspaceLock } from './workspace/workspace-lock.ts';
import type { WorkspaceRecord } from './workspace/workspace-record.ts';
import type { WorkspaceSettings } from './workspace/workspace-settings.ts';

/** The outside thing of this worker: workspaces on the disk, and system programs in sandboxes. */
export interface Driver {
  readonly settings: WorkspaceSettings;
  readonly commands: CommandSettings;
  /** Absolute directories: bare repositories below them may be pushed to. */
  readonly remotes: readonly string[];
  /** Runs `use` on the newest state of the workspace, held open meanwhile. Throws `workspace_missing`, `workspace_refused`. */
  inWorkspace<T>(ctx: ToolContext, use: (workspace: OpenWorkspace) => Promise<T>): Promise<T>;
  /**
   * Runs `use` on the workspace under its kernel lock (protocol 7 (c)). It calls `beginEffect` of the context that it is
   * given before it writes anything. On storage of its own this worker keeps what was done in a snapshot first: the
   * outcome is that of `use` only when that was stored (protocol 12). Throws `workspace_busy`, and `approval_changed`
   * where a file that a yes is bound to is another one by now.
   */
  changing(ctx: ToolContext, use: Changing): Promise<Outcome>;
  /** What became of the call that `ctx` probes; `look` is asked, under the lock, where the workspace lies here for good. */
  probing(
    ctx: ToolContext,
    intent: Json | undefined,
    look: (workspace: OpenWorkspace, lock: WorkspaceLock) => Promise<ProbeAnswer>,
  ): Promise<ProbeAnswer>;
  /** Makes the workspace of a task ready, or finds it ready. */
  preparing(ctx: ToolContext): Promise<WorkspaceRecord>;
  /** Removes copies that nobody has used for long; safe beside everything else. */
  sweep(): Promise<void>;
  /** No sandbox stands any more, and none is made for commands to come; calls run on. */
  drain(): Promise<void>;
  /** Gives back what the commands were confined with. No call runs any more. */
  close(): Promise<void>;
}

export interface DriverOptions {
  /** Milliseconds to wait for the lock of a workspace. */
  readonly lockWaitMs: number;
  /** `own`: nobody else sees these workspaces, so that they are kept in snapshots. `shared` when left out. */
  readonly storage?: 'own' | 'shared';
  readonly snapshots?: Partial<SnapshotLimits>;
  readonly log?: Logger;
  /** Directories of repositories that may be pushed to; none when left out. */
  readonly remotes?: readonly string[];
  /** What commands may take; the defaults where a field is left out. */
  readonly commands?: Partial<CommandOptions>;
}

/** An existing directory lies where it lies, whatever the storage of the worker is. */
const isKept = ({ workspace }: ToolContext): boolean => workspace !== undefined && workspace.source.type !== 'existing';

/** Design §8: under the lock of a change, before its effect, so that no other call comes in between. */
const afterBoundFiles =
  <T>(ctx: ToolContext, use: (workspace: OpenWorkspace) => Promise<T>) =>
  async (workspace: OpenWorkspace): Promise<T> => {
    await checkBoundFiles(workspace, ctx);
    return use(workspace);
  };

/** What stands for a workspace goes with the record that it was made after. */
const forgetting = (opener: WorkspaceOpener, { confinement }: CommandSettings): WorkspaceOpener => ({
  open: (ref) => opener.open(ref),
  forget(id) {
    opener.forget(id);
    confinement.standing.discard(id);
  },
});

export const createDriver = async (settings: WorkspaceSettings, options: DriverOptions): Promise<Driver> => {
  await makeLayout(settings.layout);
  const commands = await compileCommands(settings, options.commands ?? {});
  const opener = forgetting(workspaceOpener(settings), commands);
  const lock = (name: string, signal: AbortSignal): Promise<WorkspaceLock> => {
    const flock = needProgram(settings.programs, 'flock');
    return lockWorkspace({ directory: settings.layout.locks, name, flock, waitMs: options.lockWaitMs, signal });
  };
  const log = options.log ?? silentLogger;
  const limits = { ...SNAPSHOT_LIMITS, ...options.snapshots };
  if (options.storage === 'own') await removeLeftTrees(settings);
  const own =
    options.storage === 'own'
      ? new KeptWorkspaces({ settings, opener, confinement: commands.confinement, limits, log, lock })
      : undefined;
  const keptOf = (ctx: ToolContext) => (isKept(ctx) ? own : undefined);

  const openHere = async <T>(ctx: ToolContext, use: (workspace: OpenWorkspace) => Promise<T>): Promise<T> => {
    const workspace = await opener.open(ctx.workspace);
    try {
      return await use(workspace);
    } finally {
      await workspace.close();
    }
  };
  const lockHere = <T>(
    ctx: ToolContext,
    use: (workspace: OpenWorkspace, lock: WorkspaceLock) => Promise<T>,
  ): Promise<T> =>
    openHere(ctx, async (workspace) => {
      const held = await lock(workspace.record.lock, ctx.signal);
      try {
        return await use(workspace, held);
      } finally {
        await held.release();
      }
    });

  return {
    settings,
    commands,
    remotes: options.remotes ?? [],
    drain: () => commands.confinement.standing.close(),
    close: () => commands.confinement.close(),
    inWorkspace(ctx, use) {
      const checked = afterBoundFiles(ctx, use);
      return keptOf(ctx)?.reading(ctx, checked) ?? openHere(ctx, checked);
    },
    changing(ctx, use) {
      const checked: Changing = (workspace, held, inner) =>
        afterBoundFiles(ctx, () => use(workspace, held, inner))(workspace);
      return keptOf(ctx)?.changing(ctx, checked) ?? lockHere(ctx, (workspace, held) => checked(workspace, held, ctx));
    },
    async probing(ctx, intent, look) {
      const parent = parseProbeCallId(ctx.callId)?.parent;
      const kept = keptOf(ctx);
      if (kept === undefined) return lockHere(ctx, look);
      if (parent === undefined) return { answer: 'not_visible', reason: 'no call was asked about' };
      return unseenOutside(await kept.probing(ctx, parent, intent), intent);
    },
    async preparing(ctx) {
      if (ctx.workspace === undefined) throw new FabricError('workspace_missing', 'the task has no workspace');
      const { timeoutMs } = ctx.limits;
      const { signal, redactor } = ctx;
      return (
        keptOf(ctx)?.preparing(ctx) ??
        prepareWorkspace(settings, ctx.workspace, { timeoutMs, signal, redactor, confinement: commands.confinement })
      );
    },
    async sweep() {
      if (own) await sweepCopies({ settings, opener, lock, log, oldTrees: own.oldTrees });
    },
  };
};
