import type { Outcome, WorkspaceHead, WorkspaceRef } from '@toolfabric/contract';
import { FabricError, type Json } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import type { ProbeAnswer, ToolContext } from '@toolfabric/worker-runtime';
import { identityOf } from '../open-root.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import { prepareWorkspace } from '../prepare-workspace.ts';
import type { WorkspaceLock } from '../workspace-lock.ts';
import { readRecord, removeRecord, type WorkspaceRecord } from '../workspace-record.ts';
import { answerFromHistory } from './answer-from-history.ts';
import { readCopyState, touchCopy, writeCopyState } from './copy-state.ts';
import { type Kept, keepEffect, notKept } from './keep-effect.ts';
import { errorOf, isThere, missing, PREPARED, refOf, sessionOf, withGeneration } from './kept-call.ts';
import type { KeptDeps } from './kept-deps.ts';
import { loadSnapshot } from './load-snapshot.ts';
import type { Snapshot } from './manifest.ts';
import { SnapshotMemory } from './memory.ts';
import { raiseGeneration } from './move-head.ts';
import { OldTrees } from './old-trees.ts';
import { patiently } from './patience.ts';
import { restoreCopy } from './restore-copy.ts';

export type InWorkspace<T> = (workspace: OpenWorkspace) => Promise<T>;
export type Changing = (workspace: OpenWorkspace, lock: WorkspaceLock, ctx: ToolContext) => Promise<Outcome>;

const MOST_TRIES = 4;
const TOUCH_EVERY_MS = 600_000;

const lockName = (id: string): string => `tree-${id}`;

/**
 * Workspaces on storage that belongs to this worker alone. The artifact store holds the truth; what lies here is a copy
 * of one snapshot, used while it is the newest (protocol 12). Every write is done under the kernel lock, on the newest
 * snapshot, and has happened once the head of the workspace was moved from that snapshot to the one with the write.
 */
export class KeptWorkspaces {
  readonly #deps: KeptDeps;
  readonly #memory = new SnapshotMemory();
  readonly #oldTrees: OldTrees;
  /** Workspaces in which a call of this process writes at the moment. */
  readonly #writing = new Set<string>();
  readonly #touched = new Map<string, number>();

  constructor(deps: KeptDeps) {
    this.#deps = deps;
    this.#oldTrees = new OldTrees(deps.settings.layout);
  }

  get oldTrees(): OldTrees {
    return this.#oldTrees;
  }

  /** On the newest snapshot, or on what a call of this worker is making of it. */
  async reading<T>(ctx: ToolContext, use: InWorkspace<T>): Promise<T> {
    const workspace = await this.#openNewest(ctx);
    const identity = await identityOf(workspace.root.handle);
    this.#oldTrees.enter(identity);
    try {
      return await use(workspace);
    } finally {
      await workspace.close();
      await this.#oldTrees.leave(identity);
    }
  }

  /** `use` calls `beginEffect` of the context that it is given before it writes anything. */
  async changing(ctx: ToolContext, use: Changing): Promise<Outcome> {
    const ref = refOf(ctx);
    const session = sessionOf(ctx);
    return this.#underLock(ref, ctx.signal, async (lock) => {
      // What an earlier epoch of this call has left undone must not be kept any more.
      if (ctx.epoch > 1) await patiently(ctx.clock, ctx.signal, () => raiseGeneration(session, ctx.signal));
      const { head } = await this.#freshen(ctx, session, ref);
      const workspace = await this.#deps.opener.open(ref);
      this.#writing.add(ref.id);
      try {
        return await this.#change(ctx, session, workspace, head, lock, use);
      } finally {
        this.#writing.delete(ref.id);
        await workspace.close();
      }
    });
  }

  /**
   * Whether an earlier call was kept. The generation is raised first: whoever has not been kept by then never will be,
   * wherever it runs and however long it was paused. That is the fence.
   */
  async probing(ctx: ToolContext, parent: string, intent: Json | undefined): Promise<ProbeAnswer> {
    const ref = refOf(ctx);
    const session = sessionOf(ctx);
    const { clock, signal } = ctx;
    const head = await patiently(clock, signal, () => raiseGeneration(session, signal));
    if (head.manifest === undefined) return { answer: 'absent', fence: true };
    const newest = await this.#load(ctx, session, ref, head.manifest);
    return patiently(clock, signal, () =>
      answerFromHistory({ session, newest, parent, intent, limits: this.#deps.limits, signal }),
    );
  }

  /** Makes a workspace and stores its first snapshot; one that has a snapshot is restored. */
  async preparing(ctx: ToolContext): Promise<WorkspaceRecord> {
    const ref = refOf(ctx);
    const session = sessionOf(ctx);
    return this.#underLock(ref, ctx.signal, async () => {
      const { clock, signal } = ctx;
      if (ctx.epoch > 1) await patiently(clock, signal, () => raiseGeneration(session, signal));
      const head = await patiently(clock, signal, () => session.head(signal));
      if (head.manifest !== undefined) return (await this.#freshen(ctx, session, ref)).record;
      const kept = await this.#prepareFirst(ctx, session, ref, head);
      if (kept.kept) return this.#recordOf(ref);
      // Another delivery of the same call may have been faster.
      const now = await patiently(clock, signal, () => session.head(signal));
      if (now.manifest === undefined) throw errorOf(kept.outcome);
      return (await this.#freshen(ctx, session, ref)).record;
    });
  }

  async #prepareFirst(
    ctx: ToolContext,
    session: ArtifactSession,
    ref: WorkspaceRef,
    head: WorkspaceHead,
  ): Promise<Kept> {
    const { settings, opener, limits, confinement } = this.#deps;
    const { layout } = settings;
    const earlier = await readRecord(layout, ref.id);
    if (earlier && !(await isThere(earlier))) await removeRecord(layout, ref.id);
    await prepareWorkspace(settings, ref, {
      timeoutMs: ctx.limits.timeoutMs,
      signal: ctx.signal,
      redactor: ctx.redactor,
      confinement,
    });
    opener.forget(ref.id);
    await writeCopyState(layout, ref.id, { clean: false });
    const workspace = await opener.open(ref);
    try {
      const keeping = { ctx, session, workspace, head, before: undefined, hashes: new Map(), limits };
      const kept = await keepEffect(keeping, PREPARED);
      await this.#note(ref.id, kept);
      return kept;
    } finally {
      await workspace.close();
    }
  }

  async #change(
    ctx: ToolContext,
    session: ArtifactSession,
    workspace: OpenWorkspace,
    head: WorkspaceHead,
    lock: WorkspaceLock,
    use: Changing,
  ): Promise<Outcome> {
    const { id } = workspace.record;
    const { layout } = this.#deps.settings;
    let began = false;
    const beginEffect: ToolContext['beginEffect'] = async (intent) => {
      await writeCopyState(layout, id, { clean: false });
      await ctx.beginEffect(withGeneration(intent, head));
      began = true;
    };
    let outcome: Outcome;
    try {
      outcome = await use(workspace, lock, { ...ctx, beginEffect });
    } catch (thrown) {
      if (began) return notKept(ctx.redactor, thrown);
      await this.#markClean(id, head.manifest);
      throw thrown;
    }
    if (!began) {
      await this.#markClean(id, head.manifest);
      return outcome;
    }
    const before = await this.#load(ctx, session, workspace.record, head.manifest).catch((thrown: unknown) =>
      notKept(ctx.redactor, thrown),
    );
    if ('status' in before) return before;
    const hashes = this.#memory.get(id)?.hashes ?? new Map();
    const { limits } = this.#deps;
    const kept = await keepEffect({ ctx, session, workspace, head, before, hashes, limits }, outcome);
    await this.#note(id, kept);
    return kept.outcome;
  }

  async #note(id: string, kept: Kept): Promise<void> {
    if (!kept.kept) return;
    this.#memory.set(id, kept.remembered);
    await this.#markClean(id, kept.remembered.snapshot.id);
  }

  #markClean(id: string, manifest: string | undefined): Promise<void> {
    return writeCopyState(this.#deps.settings.layout, id, {
      clean: true,
      ...(manifest === undefined ? {} : { manifest }),
    });
  }

  async #openNewest(ctx: ToolContext): Promise<OpenWorkspace> {
    const { opener } = this.#deps;
    const ref = refOf(ctx);
    const session = sessionOf(ctx);
    for (let tries = 1; ; tries += 1) {
      const head = await session.head(ctx.signal);
      if (!this.#writing.has(ref.id) && !(await this.#isNewest(ref, head))) {
        return this.#underLock(ref, ctx.signal, async () => {
          await this.#freshen(ctx, session, ref);
          return opener.open(ref);
        });
      }
      await this.#touch(ref.id, ctx.clock.now());
      const opened = await opener.open(ref).catch((thrown: unknown) => thrown);
      // It may have been restored between the question and the opening.
      if (!(opened instanceof Error)) return opened as OpenWorkspace;
      if (tries >= MOST_TRIES) throw opened;
      opener.forget(ref.id);
    }
  }

  async #isNewest(ref: WorkspaceRef, head: WorkspaceHead): Promise<boolean> {
    const state = await readCopyState(this.#deps.settings.layout, ref.id);
    return state?.clean === true && head.manifest !== undefined && state.manifest === head.manifest;
  }

  /** Under the lock: afterwards the copy here is the newest snapshot. */
  async #freshen(
    ctx: ToolContext,
    session: ArtifactSession,
    ref: WorkspaceRef,
  ): Promise<{ head: WorkspaceHead; record: WorkspaceRecord }> {
    const { settings, opener, log } = this.#deps;
    const { clock, signal } = ctx;
    const head = await patiently(clock, signal, () => session.head(signal));
    if (head.manifest === undefined) throw missing();
    const present = await readRecord(settings.layout, ref.id);
    if (present && (await this.#isNewest(ref, head)) && (await isThere(present))) {
      await this.#touch(ref.id, clock.now());
      return { head, record: present };
    }
    const snapshot = await this.#load(ctx, session, ref, head.manifest);
    const { oldTrees } = this;
    const startedAt = performance.now();
    const record = await patiently(clock, signal, () =>
      restoreCopy({ settings, ref, session, snapshot, oldTrees, ctx }),
    );
    opener.forget(ref.id);
    this.#memory.set(ref.id, { snapshot, hashes: new Map() });
    const ms = Math.round(performance.now() - startedAt);
    log.info('workspace.restored', {
      workspace: ref.id,
      generation: head.generation,
      entries: snapshot.entries.size,
      ms,
    });
    return { head, record };
  }

  async #load(
    ctx: ToolContext,
    session: ArtifactSession,
    ref: Pick<WorkspaceRef, 'id'>,
    manifest: string | undefined,
  ): Promise<Snapshot> {
    if (manifest === undefined) throw missing();
    const known = this.#memory.get(ref.id)?.snapshot;
    if (known?.id === manifest) return known;
    const { clock, signal } = ctx;
    const snapshot = await patiently(clock, signal, () =>
      loadSnapshot(session, ref.id, manifest, this.#deps.limits, signal),
    ).catch((thrown: unknown) => {
      if (thrown instanceof FabricError && thrown.type === 'workspace_lost')
        this.#deps.log.error('workspace.lost', { workspace: ref.id, reason: thrown.message });
      throw thrown;
    });
    return snapshot;
  }

  async #recordOf(ref: WorkspaceRef): Promise<WorkspaceRecord> {
    const record = await readRecord(this.#deps.settings.layout, ref.id);
    if (record === undefined) throw missing();
    return record;
  }

  async #touch(id: string, now: number): Promise<void> {
    if (now - (this.#touched.get(id) ?? 0) < TOUCH_EVERY_MS) return;
    if (this.#touched.size > 10_000) this.#touched.clear();
    this.#touched.set(id, now);
    await touchCopy(this.#deps.settings.layout, id, now);
  }

  async #underLock<T>(ref: WorkspaceRef, signal: AbortSignal, work: (lock: WorkspaceLock) => Promise<T>): Promise<T> {
    const lock = await this.#deps.lock(lockName(ref.id), signal);
    try {
      return await work(lock);
    } finally {
      await lock.release();
    }
  }
}
