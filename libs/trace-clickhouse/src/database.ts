import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client';
import { StoreUnavailable } from '@toolfabric/ports';
import type { z } from 'zod';

/** Whole numbers and texts; bound by the server, never put into the text of a query. */
export type QueryParams = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** The server looked at the rows and found them wrong: they would be refused again. */
export class RowsRejected extends Error {
  override readonly name = 'RowsRejected';
}

/** Codes of the server that speak of the rows themselves; every other refusal may be over later. */
const WRONG_ROWS = new Set([
  '6',
  '25',
  '26',
  '27',
  '33',
  '38',
  '41',
  '53',
  '69',
  '70',
  '72',
  '117',
  '130',
  '131',
  '321',
  '349',
]);

/** Caps of every question: seconds, bytes, threads. */
const CAPS = [
  'max_execution_time = 5',
  'max_memory_usage = 268435456',
  'max_threads = 2',
  'max_result_rows = 1000',
  "result_overflow_mode = 'throw'",
  'output_format_json_quote_64bit_integers = 0',
].join(', ');

const DATABASE = /^[a-z][a-z0-9_]{0,62}$/;

/** Name of a database that may stand in a statement. Throws a `RangeError`. */
export const checkedDatabase = (name: string): string => {
  if (!DATABASE.test(name)) throw new RangeError('the database is not named by lower-case letters, digits and "_"');
  return name;
};

/** The text of the server stays in the cause: it may quote rows. */
const asError = (error: unknown): Error => {
  if (error instanceof StoreUnavailable) return error;
  if (!(error instanceof ClickHouseError))
    return new StoreUnavailable('the trace store does not answer', { cause: error });
  const { code, type } = error;
  if (WRONG_ROWS.has(code))
    return new RowsRejected(`the trace store refused the rows: ${type ?? code}`, { cause: error });
  return new StoreUnavailable(`the trace store refused: ${type ?? code}`, { cause: error });
};

/** One database of a server or of the embedded engine. Every method throws `StoreUnavailable` when it is not known what happened. */
export class Database {
  readonly name: string;
  readonly #client: ClickHouseClient;

  constructor(client: ClickHouseClient, name: string) {
    this.#client = client;
    this.name = checkedDatabase(name);
  }

  /** `{db}` in the statement is this database. */
  async command(statement: string): Promise<void> {
    await this.#client.command({ query: this.#named(statement) }).catch((error) => Promise.reject(asError(error)));
  }

  /** Rows of a query without a `SETTINGS` or `FORMAT` clause. */
  async rows<T>(schema: z.ZodType<T>, query: string, params: QueryParams = {}): Promise<T[]> {
    try {
      const answer = await this.#client.query({
        query: `${this.#named(query)} SETTINGS ${CAPS}`,
        query_params: { ...params },
        format: 'JSONEachRow',
      });
      return (await answer.json()).map((row) => schema.parse(row));
    } catch (error) {
      throw asError(error);
    }
  }

  /**
   * Resolves when the rows are stored. `lines` are rows in JSON. Throws `RowsRejected`, or `StoreUnavailable` when they
   * may be stored or not.
   */
  async insert(table: string, lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    await this.#client
      .insert({
        table: `${this.name}.${table}`,
        values: [...lines],
        format: 'JSONEachRow',
        // An acknowledged row must be in a part, not in a buffer of the server.
        clickhouse_settings: { async_insert: 0, input_format_skip_unknown_fields: 0 },
      })
      .catch((error) => Promise.reject(asError(error)));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #named(statement: string): string {
    return statement.replaceAll('{db}', this.name);
  }
}
