import type { CallRecord, LifeSign, TaskRecord, WorkspaceHome } from '@toolfabric/contract';
import type { Clock, Logger } from '@toolfabric/kernel';
import { changeRecord, lifeKey, moveHome, pinKey, taskKey } from '@toolfabric/ledger';
import type { LedgerPorts } from '@toolfabric/ports';
import { callEvent } from './call-events.ts';
import type { RouterContext } from './router-context.ts';

/** Tasks whose home this router remembers. */
const MOST_KNOWN = 5_000;
/** Milliseconds that a busy store is waited for: a home that is not stored costs one restore. */
const PATIENCE_MS = 500;

export interface TaskHomeDeps {
  readonly ports: Pick<LedgerPorts, 'tasks' | 'lives' | 'events'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The sign of a living worker, as this router saw it last. */
  readonly lifeOf: (kind: string, incarnation: string) => LifeSign | undefined;
}

/**
 * Which worker has the newest copy of a task's workspace (protocol 12). Only a hint: a call that goes elsewhere finds
 * the workspace in its snapshot. Workers on shared storage are nobody's home.
 */
export class TaskHomes {
  readonly #deps: TaskHomeDeps;
  readonly #known = new Map<string, string>();

  constructor(deps: TaskHomeDeps) {
    this.#deps = deps;
  }

  /** The pin slot that a new call of this task should go to; undefined for anybody of the kind. */
  pinOf({ home, workspace }: TaskRecord, kind: string): string | undefined {
    if (workspace === undefined || home?.kind !== kind) return undefined;
    return this.#isAlive(home) ? home.slot : undefined;
  }

  /** After `incarnation` has run a call. Never throws: the next call tries again. */
  async follow(call: CallRecord, incarnation: string): Promise<void> {
    const key = taskKey(call.actor.tenant, call.taskId);
    if (call.workspace === undefined || this.#known.get(key) === incarnation) return;
    try {
      const ran = await this.#homeAt(call, incarnation);
      if (ran === undefined) return;
      let from: WorkspaceHome | undefined;
      const move = (task: TaskRecord | undefined) => {
        from = task?.home;
        return this.#moved(task, ran);
      };
      const options = { clock: this.#deps.clock, patienceMs: PATIENCE_MS };
      const change = await changeRecord(this.#deps.ports.tasks, key, move, options);
      if (change.done && from !== undefined) this.#tellMoved(call, from, ran);
      const home = change.done ? change.value.home : change.current?.value.home;
      if (home?.incarnation === incarnation) this.#remember(key, incarnation);
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.name : 'thrown';
      this.#deps.log.warn('home.not_stored', { taskId: call.taskId, cause });
    }
  }

  /** A worker that has just come may not have been seen yet. */
  async #homeAt({ kind }: CallRecord, incarnation: string): Promise<WorkspaceHome | undefined> {
    const read = async () => (await this.#deps.ports.lives(kind).get(lifeKey(kind, incarnation)))?.value;
    const life = this.#deps.lifeOf(kind, incarnation) ?? (await read());
    if (life?.state !== 'alive' || life.storage !== 'own' || life.pin === undefined) return undefined;
    return { kind, slot: life.pin, incarnation };
  }

  #isAlive(home: WorkspaceHome): boolean {
    return this.#deps.lifeOf(home.kind, home.incarnation)?.pin === home.slot;
  }

  #moved(task: TaskRecord | undefined, ran: WorkspaceHome): TaskRecord | undefined {
    if (task === undefined || task.state === 'ended') return undefined;
    const home = moveHome(task.home, ran, task.home !== undefined && this.#isAlive(task.home));
    return home && { ...task, home };
  }

  /** After the compare-and-set, so that no move is told that did not happen; one whose router dies here is not told. */
  #tellMoved(call: CallRecord, from: WorkspaceHome, to: WorkspaceHome): void {
    const attributes = {
      workspace: call.workspace?.id ?? '',
      ...{ from: from.incarnation, fromKind: from.kind, to: to.incarnation, kind: to.kind, slot: to.slot },
    };
    this.#deps.ports.events.emit(
      callEvent(this.#deps, call, 'workspace.moved', `workspace-moved.${call.epoch}`, attributes),
    );
  }

  #remember(key: string, incarnation: string): void {
    this.#known.delete(key);
    this.#known.set(key, incarnation);
    const oldest = this.#known.keys().next();
    if (this.#known.size > MOST_KNOWN && !oldest.done) this.#known.delete(oldest.value);
  }
}

/** Whether no living worker takes work from the slot that the call's message lies in. */
export const isPinLost = async (ctx: RouterContext, { kind, pin, state }: CallRecord): Promise<boolean> => {
  if (pin === undefined || state !== 'queued') return false;
  const holder = (await ctx.ports.pins(kind).get(pinKey(kind, pin)))?.value.holder ?? '';
  if (holder === '') return true;
  const life = await ctx.ports.lives(kind).get(lifeKey(kind, holder));
  return life?.value.state !== 'alive' || life.value.pin !== pin;
};
