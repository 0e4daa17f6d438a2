import { StoreUnavailable } from '@toolfabric/ports';
import type { EngineArguments } from './engine-messages.ts';
import { EngineNotOpened, EngineProcess } from './engine-process.ts';

export interface KeeperOptions {
  readonly directory: string;
  /** Bytes that the process may hold between two pieces of work; over one and a half times of it, it is ended at once. */
  readonly memoryBytes: number;
  readonly module: string;
  /** Priority of the process, from 0 to 19 (last); 0 when left out. */
  readonly niceness?: number;
  onEvent(event: 'opened' | 'ended' | 'renewed' | 'over_memory' | 'not_opened', fields: KeeperFields): void;
}
export type KeeperFields = Readonly<Record<string, string | number>>;

export interface EngineState {
  readonly state: 'opening' | 'open' | 'absent' | 'closed';
  readonly reason: string;
  readonly version: string;
  readonly pid: number;
  readonly rss: number;
  /** Times that the process was started. */
  readonly starts: number;
}

type Work = Parameters<EngineProcess['request']>[0];

/** What the engine itself may use of the bound; the rest is the runtime, its library and what it gives back late. */
const ENGINE_SHARE = 0.55;
const HARD_SHARE = 1.5;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** Requests that wait or run at once. */
const MOST_REQUESTS = 64;

/**
 * Keeps one engine process running on the data directory.
 *
 * Invariants. (1) At most one process at a time. (2) A process that holds more than the bound gets no new work, and is
 * renewed when its last piece of work has ended; one far above is killed. (3) Work waits for the next process within its own timeout, and not at all when
 * the engine is absent.
 */
export class EngineKeeper {
  readonly #options: KeeperOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #current: EngineProcess | undefined;
  #renewing = false;
  #leaving: EngineProcess | undefined;
  #absent = '';
  #reason = 'the engine is being opened';
  #version = '';
  #starts = 0;
  #requests = 0;
  #changed = Promise.withResolvers<void>();

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#running = this.#keep();
  }

  get status(): EngineState {
    const state = this.#stop.signal.aborted
      ? 'closed'
      : this.#absent !== ''
        ? 'absent'
        : this.#current === undefined
          ? 'opening'
          : 'open';
    const { pid = 0, rss = 0 } = this.#current ?? {};
    return { state, reason: this.#reason, version: this.#version, pid, rss, starts: this.#starts };
  }

  /** Throws `EngineRefusal` or `StoreUnavailable`. */
  async request(work: Work, timeoutMs: number): Promise<Uint8Array> {
    if (this.#requests >= MOST_REQUESTS) throw new StoreUnavailable('too much waits for the trace engine');
    this.#requests += 1;
    try {
      const until = performance.now() + timeoutMs;
      const engine = await this.#ready(until);
      return await engine.request(work, Math.max(1, until - performance.now()));
    } finally {
      this.#requests -= 1;
      this.#renewWhenIdle();
    }
  }

  /** Ends the process in order. Safe to call twice. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#announce();
    await this.#current?.close();
    await this.#running;
  }

  async #ready(until: number): Promise<EngineProcess> {
    for (;;) {
      if (this.#stop.signal.aborted) throw new StoreUnavailable('the trace engine was closed');
      if (this.#absent !== '') throw new StoreUnavailable(this.#absent);
      if (this.#current !== undefined && !this.#renewing) return this.#current;
      const left = until - performance.now();
      if (left <= 0) throw new StoreUnavailable(this.#reason);
      await Promise.race([this.#changed.promise, sleep(Math.min(left, LONGEST_PAUSE_MS), this.#stop.signal)]);
    }
  }

  async #keep(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#stop.signal.aborted && this.#absent === '') {
      const began = performance.now();
      await this.#runOnce();
      if (performance.now() - began > 2 * LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
      if (this.#renewing) {
        this.#renewing = false;
        continue;
      }
      await sleep(pauseMs, this.#stop.signal);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    }
  }

  async #runOnce(): Promise<void> {
    const { directory, memoryBytes, module, niceness = 0, onEvent } = this.#options;
    const given: EngineArguments = {
      directory,
      memoryBytes: Math.floor(memoryBytes * ENGINE_SHARE),
      module,
      niceness,
    };
    this.#starts += 1;
    try {
      const engine = await EngineProcess.open(given, (rss) => this.#onMemory(rss));
      if (this.#stop.signal.aborted) {
        await engine.close();
        return;
      }
      this.#current = engine;
      this.#version = engine.version;
      this.#reason = '';
      this.#renewing = false;
      this.#announce();
      onEvent('opened', { version: engine.version, pid: engine.pid });
      await engine.exited;
      this.#reason = 'the process of the engine ended and is started again';
      if (!this.#stop.signal.aborted) onEvent(this.#renewing ? 'renewed' : 'ended', { pid: engine.pid });
    } catch (error) {
      const why = error instanceof EngineNotOpened ? error.why : 'broken';
      if (this.#reason !== REASONS[why]) onEvent('not_opened', { why });
      this.#reason = REASONS[why];
      if (why === 'missing') this.#absent = REASONS.missing;
    } finally {
      this.#current = undefined;
      this.#announce();
    }
  }

  #onMemory(rss: number): void {
    const { memoryBytes, onEvent } = this.#options;
    if (rss > memoryBytes * HARD_SHARE) {
      onEvent('over_memory', { rss });
      this.#current?.kill();
    } else this.#renewWhenIdle();
  }

  #renewWhenIdle(): void {
    const engine = this.#current;
    if (engine === undefined || (!this.#renewing && engine.rss <= this.#options.memoryBytes)) return;
    this.#renewing = true;
    if (engine.busy || this.#leaving === engine) return;
    this.#leaving = engine;
    void engine.close();
  }

  #announce(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }
}

const REASONS = {
  missing:
    'the embedded trace engine is not installed: install the optional package chdb, or set TOOLFABRIC_TRACE_STORE=clickhouse',
  locked: 'another process holds the directory of the traces',
  broken: 'the embedded trace engine does not open its directory',
} as const;

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
