import { type Actor, TaskId, type TaskRecord } from '@toolfabric/contract';
import { checkTaskScope } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { taskKey } from '@toolfabric/ledger';
import type { Store } from '@toolfabric/ports';

export interface KnownTask {
  readonly task: TaskRecord;
  /** Resolves when the task as it is stored now allows the call; otherwise throws what `checkTaskScope` throws. */
  readonly confirm: () => Promise<void>;
  /** The task as it is stored now: what forbade a call may have been lifted since. */
  readonly reread: () => Promise<TaskRecord>;
}

/**
 * Tasks as this router saw them last. A remembered one lets the checks go on at once, while the stored one is read
 * beside them; nothing of a call is published before that read has confirmed it.
 */
export class TaskCache {
  readonly #store: Store<TaskRecord>;
  readonly #most: number;
  readonly #known = new Map<string, TaskRecord>();

  constructor(store: Store<TaskRecord>, most: number) {
    this.#store = store;
    this.#most = most;
  }

  /** Throws `not_found`, `task_ended` or `unavailable` as `checkTaskScope` does. */
  async open(actor: Actor, taskId: string): Promise<KnownTask> {
    if (!TaskId.safeParse(taskId).success) throw new FabricError('not_found', 'there is no such task');
    const key = taskKey(actor.tenant, taskId);
    const known = this.#known.get(key);
    if (known === undefined) {
      const read = await this.#read(key, actor);
      return { task: read, confirm: async () => {}, reread: async () => read };
    }
    const task = checkTaskScope(known, actor);
    const fresh = this.#read(key, actor);
    // Heard by whoever confirms; a call that is refused before that has no use for it.
    fresh.catch(() => {});
    return {
      task,
      confirm: async () => {
        await fresh;
      },
      reread: () => fresh,
    };
  }

  /** After a task was ended by this router. */
  forget(actor: Actor, taskId: string): void {
    this.#known.delete(taskKey(actor.tenant, taskId));
  }

  async #read(key: string, actor: Actor): Promise<TaskRecord> {
    const stored = await this.#store.get(key);
    this.#known.delete(key);
    const task = checkTaskScope(stored?.value, actor);
    this.#known.set(key, task);
    const oldest = this.#known.keys().next();
    if (this.#known.size > this.#most && !oldest.done) this.#known.delete(oldest.value);
    return task;
  }
}
