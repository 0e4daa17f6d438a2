import { Worker } from 'node:worker_threads';
import { FabricError } from '@toolfabric/kernel';
import type { FolderQuery } from './folder-index.ts';
import { FOLDER_LIMITS, type FolderLimits } from './folder-limits.ts';
import type { IndexAnswer, IndexReply, IndexRequest, IndexSettings } from './index-message.ts';
import { tenantFolder } from './index-shelf.ts';
import { type FileInside, readInside } from './read-inside.ts';

export interface LocalIndexOptions {
  /** Holds one folder for each tenant, named like it. */
  readonly folder: string;
  readonly limits?: Partial<FolderLimits>;
  /** Milliseconds without a sign of the thread; then it is ended, and the next question begins a new one. */
  readonly stuckMs?: number;
  /** MiB of memory of the thread. */
  readonly memoryMb?: number;
}

/** How a question ended: an answer, no folder, not in time, or a thread that fell over. */
export type IndexEnd = IndexAnswer | 'none' | 'late' | 'broken';

const MOST_WAITING = 64;

/** The folders of all tenants, indexed in a thread of their own; nothing of one is ever told to another. */
export class LocalIndex {
  readonly #options: Required<Omit<LocalIndexOptions, 'limits'>> & { readonly limits: FolderLimits };
  readonly #waiting = new Map<number, (end: IndexEnd) => void>();
  #thread: Worker | undefined;
  #watch: NodeJS.Timeout | undefined;
  #nextId = 0;

  constructor({ limits, ...options }: LocalIndexOptions) {
    this.#options = { stuckMs: 20_000, memoryMb: 1_024, ...options, limits: { ...FOLDER_LIMITS, ...limits } };
  }

  /**
   * Rejects with `overloaded` when too many wait, and with the reason of the signal. After `timeoutMs` it ends `late`; the
   * folder is indexed on all the same, so that the next question finds more done.
   */
  ask(tenant: string, query: FolderQuery, timeoutMs: number, signal: AbortSignal): Promise<IndexEnd> {
    signal.throwIfAborted();
    if (this.#waiting.size >= MOST_WAITING) throw new FabricError('overloaded', 'too many searches wait');
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      const settle = (end: IndexEnd | undefined) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiting.delete(id);
        if (this.#waiting.size === 0) clearTimeout(this.#watch);
        if (end === undefined) reject(signal.reason);
        else resolve(end);
      };
      const giveUp = () => settle(undefined);
      const timer = setTimeout(() => settle('late'), timeoutMs);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.set(id, settle);
      this.#send({ id, tenant, query });
    });
  }

  /** A file of the tenant's folder as it is now; undefined where it is not there any more. */
  read(tenant: string, path: string): FileInside | undefined {
    const root = tenantFolder(this.#options.folder, tenant);
    return root === undefined ? undefined : readInside(root, path, this.#options.limits.fileBytes);
  }

  close(): void {
    this.#end();
  }

  #send(request: IndexRequest): void {
    this.#thread ??= this.#begin();
    if (this.#waiting.size === 1) this.#heard();
    this.#thread.postMessage(request);
  }

  #begin(): Worker {
    const { folder, limits, memoryMb } = this.#options;
    const thread = new Worker(new URL('index-thread.ts', import.meta.url), {
      workerData: { folder, limits } satisfies IndexSettings,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      env: {},
      stdout: true,
      stderr: true,
    });
    thread.unref();
    thread.stdout.resume();
    thread.stderr.resume();
    const fellOver = () => {
      if (this.#thread === thread) this.#end();
    };
    thread.on('error', fellOver).on('exit', fellOver);
    thread.on('message', (reply: IndexReply) => this.#take(reply));
    return thread;
  }

  #take(reply: IndexReply): void {
    this.#heard();
    if ('beat' in reply) return;
    const settle = this.#waiting.get(reply.id);
    if ('none' in reply) settle?.('none');
    else if ('failed' in reply) settle?.('broken');
    else settle?.(reply);
  }

  #heard(): void {
    clearTimeout(this.#watch);
    if (this.#waiting.size > 0) this.#watch = setTimeout(() => this.#end(), this.#options.stuckMs);
  }

  /** Whoever waits is told, and nothing is left of the thread. */
  #end(): void {
    clearTimeout(this.#watch);
    void this.#thread?.terminate();
    this.#thread = undefined;
    for (const settle of [...this.#waiting.values()]) settle('broken');
  }
}
