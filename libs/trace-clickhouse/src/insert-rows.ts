import type { Database } from './database.ts';
import { toSeconds } from './rows/columns.ts';
import { type EventRows, type Moment, TABLES } from './rows/event-rows.ts';

interface Times {
  readonly tenant: string;
  readonly id: string;
  first: number;
  last: number;
  expiresAt: number;
}

/** One row for each call and trace of the batch. */
const timesOf = (moments: Iterable<Moment>): string[] => {
  const found = new Map<string, Times>();
  for (const { tenant, id, ms, expiresAt } of moments) {
    const key = `${tenant} ${id}`;
    const times = found.get(key);
    if (times === undefined) found.set(key, { tenant, id, first: ms, last: ms, expiresAt });
    else {
      times.first = Math.min(times.first, ms);
      times.last = Math.max(times.last, ms);
      times.expiresAt = Math.max(times.expiresAt, expiresAt);
    }
  }
  return [...found.values()].map(({ tenant, id, first, last, expiresAt }) =>
    JSON.stringify({ tenant, id, first_ms: first, last_ms: last, expires_at: toSeconds(expiresAt) }),
  );
};

/**
 * Every table in one insert; the rows of calls last, so that what a listing shows can be looked up. What was stored
 * when a later insert fails is stored once more by the repeat, and replaces itself.
 */
export const insertRows = async (database: Database, rows: readonly EventRows[]): Promise<void> => {
  await database.insert('trace_times', timesOf(rows.flatMap(({ moments }) => moments)));
  for (const table of TABLES) {
    await database.insert(
      table,
      rows.flatMap(({ lines }) => lines[table]),
    );
  }
};
