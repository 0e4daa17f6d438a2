import { randomId } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import type { Database } from '../database.ts';
import type { Migration } from './migration.ts';

/** The database holds a step that this version does not know: it is left alone. */
export class LaterSchema extends Error {
  override readonly name = 'LaterSchema';
}

export interface MigrateOptions {
  /** Nobody else can be at work in this database: a lock that is found was left behind. */
  readonly alone: boolean;
  /** Seconds after which the lock of another one counts as left behind. */
  readonly staleSeconds?: number;
  readonly waitMs?: number;
}

const Row = z.object({ id: z.number(), up: z.number() });
const Age = z.object({ seconds: z.number() });

const STALE_SECONDS = 120;
const WAIT_MS = 60_000;
const LOOK_EVERY_MS = 250;

/** Ids of the steps that are applied: of each, the last thing that was done counts. */
export const appliedMigrations = async (database: Database): Promise<number[]> => {
  const rows = await database.rows(
    Row,
    "SELECT id, toUInt8(argMax(direction, (at, nonce)) = 'up') AS up FROM {db}.migrations GROUP BY id ORDER BY id LIMIT 1000",
  );
  return rows.filter(({ up }) => up === 1).map(({ id }) => id);
};

const prepare = async (database: Database): Promise<void> => {
  await database.command('CREATE DATABASE IF NOT EXISTS {db}');
  await database.command(
    `CREATE TABLE IF NOT EXISTS {db}.migrations
      (id UInt32, name String, direction LowCardinality(String), at DateTime64(6, 'UTC'), nonce String)
      ENGINE = MergeTree ORDER BY (id, at)`,
  );
};

const note = async (database: Database, { id, name }: Migration, direction: 'up' | 'down'): Promise<void> => {
  const at = new Date().toISOString().replace('T', ' ').replace('Z', '');
  await database.insert('migrations', [JSON.stringify({ id, name, direction, at, nonce: randomId() })]);
};

const ageOfLock = async (database: Database): Promise<number | undefined> => {
  const rows = await database.rows(
    Age,
    `SELECT toInt64(dateDiff('second', metadata_modification_time, now())) AS seconds FROM system.tables
     WHERE database = {name:String} AND name = 'migration_lock' LIMIT 1`,
    { name: database.name },
  );
  return rows[0]?.seconds;
};

/** A table can be made once: whoever makes it holds the lock. */
const takeLock = async (database: Database, options: MigrateOptions): Promise<void> => {
  if (options.alone) await dropLock(database);
  const until = performance.now() + (options.waitMs ?? WAIT_MS);
  for (;;) {
    try {
      await database.command('CREATE TABLE {db}.migration_lock (x UInt8) ENGINE = Memory');
      return;
    } catch (error) {
      const age = await ageOfLock(database);
      if (age !== undefined && age > (options.staleSeconds ?? STALE_SECONDS)) await dropLock(database);
      else if (performance.now() > until)
        throw new StoreUnavailable('another process changes the schema of the traces', { cause: error });
      else await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
};

const dropLock = (database: Database): Promise<void> =>
  database.command('DROP TABLE IF EXISTS {db}.migration_lock SYNC');

const locked = async <T>(database: Database, options: MigrateOptions, work: () => Promise<T>): Promise<T> => {
  await prepare(database);
  await takeLock(database, options);
  try {
    return await work();
  } finally {
    await dropLock(database).catch(() => {
      // Whoever comes next finds it stale.
    });
  }
};

/** Applies what is missing, in order. Returns the ids. Throws `LaterSchema` or `StoreUnavailable`. */
export const migrateUp = (
  database: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<number[]> =>
  locked(database, options, async () => {
    const applied = new Set(await appliedMigrations(database));
    const unknown = [...applied].find((id) => !migrations.some((migration) => migration.id === id));
    if (unknown !== undefined) throw new LaterSchema(`the traces were written by a later version (step ${unknown})`);
    const missing = migrations.filter(({ id }) => !applied.has(id));
    for (const migration of missing) {
      for (const statement of migration.up) await database.command(statement);
      await note(database, migration, 'up');
    }
    return missing.map(({ id }) => id);
  });

/** Takes back every applied step above `downTo`, the last one first. */
export const migrateDown = (
  database: Database,
  migrations: readonly Migration[],
  downTo: number,
  options: MigrateOptions,
): Promise<number[]> =>
  locked(database, options, async () => {
    const applied = new Set(await appliedMigrations(database));
    const undone = migrations.filter(({ id }) => id > downTo && applied.has(id)).toReversed();
    for (const migration of undone) {
      for (const statement of migration.down) await database.command(statement);
      await note(database, migration, 'down');
    }
    return undone.map(({ id }) => id);
  });
