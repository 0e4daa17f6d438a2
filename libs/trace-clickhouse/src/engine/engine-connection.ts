import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, createClient, parseError } from '@clickhouse/client';
import { StoreUnavailable } from '@toolfabric/ports';
import type { EngineKeeper } from './engine-keeper.ts';
import { EngineRefusal } from './engine-process.ts';

type Config = NonNullable<Parameters<typeof createClient>[0]>;
type Connection = NonNullable<Config['connection']>;

const INSERT = /^INSERT INTO ([a-z0-9_]+\.[a-z0-9_]+) FORMAT JSONEachRow$/;
/** Milliseconds after which an engine that does not answer is ended and started anew. */
export interface EngineTimes {
  readonly queryMs: number;
  readonly insertMs: number;
}
const COMMAND_MS = 30_000;

const base = () => ({ query_id: randomUUID(), response_headers: {}, http_status_code: 200 });

/** A refusal of the engine as the client knows it from a server. */
const asClientError = (error: unknown): Error => {
  if (error instanceof EngineRefusal) return parseError(error.message);
  return error instanceof Error ? error : new StoreUnavailable('the trace engine failed');
};

/** The engine's process behind the client of ClickHouse, so that all else is the same for it and for a server. */
export const clientOfEngine = (keeper: EngineKeeper, times: EngineTimes): ClickHouseClient => {
  const run = (sql: string, params: Readonly<Record<string, unknown>>, timeoutMs: number) =>
    keeper
      .request({ op: 'query', sql, params }, timeoutMs)
      .catch((error: unknown) => Promise.reject(asClientError(error)));
  const connection: Connection = {
    async query({ query, query_params }) {
      const data = await run(query, query_params ?? {}, times.queryMs);
      return { ...base(), stream: Readable.from([Buffer.from(data)], { objectMode: false }) };
    },
    async command({ query, query_params }) {
      await run(query, query_params ?? {}, COMMAND_MS);
      return base();
    },
    async insert({ query, values, clickhouse_settings }) {
      const table = INSERT.exec(query.trim())?.[1];
      if (table === undefined || typeof values !== 'string') throw new TypeError('not an insert of rows in JSON');
      const settings = (clickhouse_settings ?? {}) as Record<string, string | number | boolean>;
      await keeper
        .request({ op: 'insert', table, lines: values, settings }, times.insertMs)
        .catch((error: unknown) => Promise.reject(asClientError(error)));
      return base();
    },
    exec: () => Promise.reject(new TypeError('the embedded engine takes no plain statements')),
    async ping() {
      try {
        await run('SELECT 1', {}, times.queryMs);
        return { success: true };
      } catch (error) {
        return { success: false, error: asClientError(error) };
      }
    },
    close: () => keeper.close(),
  };
  return createClient({ connection, json: ROWS_AS_TEXT, log: { level: ClickHouseLogLevel.OFF } });
};

/** Rows are made into text once, where their size is counted. */
export const ROWS_AS_TEXT = {
  parse: JSON.parse,
  stringify: (row: unknown): string => (typeof row === 'string' ? row : JSON.stringify(row)),
};
