import { mkdir } from 'node:fs/promises';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { TRACE_RPC } from '@toolfabric/contract';
import type { Logger } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import type { z } from 'zod';
import { Database } from './database.ts';
import { clientOfEngine, ROWS_AS_TEXT } from './engine/engine-connection.ts';
import { EngineKeeper, type EngineState } from './engine/engine-keeper.ts';
import { insertRows } from './insert-rows.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { LaterSchema, migrateUp } from './migrations/migrate.ts';
import { getTrace } from './queries/get-trace.ts';
import { listCalls } from './queries/list-calls.ts';
import { listDecisions } from './queries/list-decisions.ts';
import type { EventRows } from './rows/event-rows.ts';

export type TraceStoreConfig = {
  /** Milliseconds after which a store that does not answer counts as away. */
  readonly queryMs: number;
  readonly insertMs: number;
} & (
  | {
      readonly type: 'chdb';
      readonly directory: string;
      /** Bytes that the engine's process may hold. */
      readonly memoryBytes: number;
      /** Name of the package of the engine. */
      readonly module?: string;
      /** Priority of the engine's process, from 0 to 19 (last); 0 when left out. */
      readonly niceness?: number;
    }
  | {
      readonly type: 'clickhouse';
      readonly url: string;
      readonly username: string;
      readonly password: string;
      readonly database: string;
    }
);

type ListRequest = z.output<(typeof TRACE_RPC)['listCalls']['request']>;
type ListReply = z.output<(typeof TRACE_RPC)['listCalls']['reply']>;
type DecisionsRequest = z.output<(typeof TRACE_RPC)['listDecisions']['request']>;
type DecisionsReply = z.output<(typeof TRACE_RPC)['listDecisions']['reply']>;
type TraceRequest = z.output<(typeof TRACE_RPC)['getTrace']['request']>;
type TraceReply = z.output<(typeof TRACE_RPC)['getTrace']['reply']>;

/** `absent` stays so until a person acts; `away` is tried again. */
export interface TraceStoreStatus {
  readonly type: 'chdb' | 'clickhouse';
  readonly state: 'opening' | 'ready' | 'away' | 'absent';
  /** For a person; empty when ready. */
  readonly reason: string;
  readonly engine?: EngineState;
}

/** Every method throws `StoreUnavailable` while the store is away or absent. */
export interface TraceStore {
  readonly status: TraceStoreStatus;
  /** Resolves at the next moment at which the store takes rows; rejects when it is absent or closed. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** Resolves when all rows are stored. Throws `RowsRejected` when some of them never can be. */
  insert(rows: readonly EventRows[]): Promise<void>;
  listCalls(request: ListRequest): Promise<ListReply>;
  listDecisions(request: DecisionsRequest): Promise<DecisionsReply>;
  getTrace(request: TraceRequest): Promise<TraceReply>;
  close(): Promise<void>;
}

const EMBEDDED_DATABASE = 'toolfabric';
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

const openKeeper = (config: Extract<TraceStoreConfig, { type: 'chdb' }>, log: Logger): EngineKeeper =>
  new EngineKeeper({
    directory: config.directory,
    memoryBytes: config.memoryBytes,
    module: config.module ?? 'chdb',
    niceness: config.niceness ?? 0,
    onEvent: (event, fields) =>
      (event === 'opened' || event === 'renewed' ? log.info : log.warn)(`engine.${event}`, fields),
  });

const openServer = (config: Extract<TraceStoreConfig, { type: 'clickhouse' }>): Database =>
  new Database(
    createClient({
      url: config.url,
      username: config.username,
      password: config.password,
      request_timeout: config.insertMs,
      max_open_connections: 8,
      json: ROWS_AS_TEXT,
      compression: { request: true, response: true },
      log: { level: ClickHouseLogLevel.OFF },
    }),
    config.database,
  );

/** Opens in the background: the schema is brought up to date as soon as the engine or the server answers. */
class OpenTraceStore implements TraceStore {
  readonly #type: TraceStoreConfig['type'];
  readonly #keeper: EngineKeeper | undefined;
  readonly #database: Database;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  readonly #opening: Promise<void>;
  #open = false;
  #reason = 'the trace store is being opened';
  #refused = '';

  constructor(config: TraceStoreConfig, log: Logger) {
    this.#type = config.type;
    this.#log = log;
    this.#keeper = config.type === 'chdb' ? openKeeper(config, log) : undefined;
    this.#database =
      config.type === 'clickhouse'
        ? openServer(config)
        : new Database(clientOfEngine(this.#keeper as EngineKeeper, config), EMBEDDED_DATABASE);
    this.#opening = this.#prepare();
  }

  get status(): TraceStoreStatus {
    const engine = this.#keeper?.status;
    const base = { type: this.#type, ...(engine === undefined ? {} : { engine }) };
    if (this.#refused !== '') return { ...base, state: 'absent', reason: this.#refused };
    if (engine?.state === 'absent') return { ...base, state: 'absent', reason: engine.reason };
    if (!this.#open) return { ...base, state: 'opening', reason: this.#reason };
    return this.#reason === ''
      ? { ...base, state: 'ready', reason: '' }
      : { ...base, state: 'away', reason: this.#reason };
  }

  async whenReady(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#opening, aborted(signal)]);
    if (!this.#open) throw new StoreUnavailable(this.status.reason);
  }

  insert(rows: readonly EventRows[]): Promise<void> {
    return this.#use(() => insertRows(this.#database, rows));
  }

  listCalls(request: ListRequest): Promise<ListReply> {
    return this.#use(() => listCalls(this.#database, request));
  }

  listDecisions(request: DecisionsRequest): Promise<DecisionsReply> {
    return this.#use(() => listDecisions(this.#database, request));
  }

  getTrace(request: TraceRequest): Promise<TraceReply> {
    return this.#use(() => getTrace(this.#database, request));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#database.close();
    await this.#opening;
  }

  async #use<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#open) throw new StoreUnavailable(this.status.reason);
    try {
      const answer = await work();
      this.#reason = '';
      return answer;
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#reason = error.message;
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#stop.signal.aborted && this.status.state === 'opening') {
      try {
        const applied = await migrateUp(this.#database, MIGRATIONS, { alone: this.#keeper !== undefined });
        this.#log.info('schema.ready', { applied: applied.length });
        this.#reason = '';
        this.#open = true;
        return;
      } catch (error) {
        this.#reason = error instanceof Error ? error.message : 'the trace store does not answer';
        if (error instanceof LaterSchema) this.#refused = error.message;
        else if (!(error instanceof StoreUnavailable))
          this.#log.warn('schema.failed', { cause: error instanceof Error ? error.name : 'thrown' });
        await pause(pauseMs, this.#stop.signal);
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      }
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  Promise.race([aborted(signal), new Promise<void>((resolve) => setTimeout(resolve, ms))]);

/** Makes the directory of an embedded engine, for its owner alone. Throws when it cannot be made. */
export const openTraceStore = async (config: TraceStoreConfig, log: Logger): Promise<TraceStore> => {
  if (config.type === 'chdb') await mkdir(config.directory, { recursive: true, mode: 0o700 });
  return new OpenTraceStore(config, log);
};
