import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Database } from '../database.ts';
import { insertRows } from '../insert-rows.ts';
import { rowsOf } from '../rows/event-rows.ts';
import { settledEvent, temporaryDatabase } from '../testing/index.ts';
import { MIGRATIONS } from './index.ts';
import { appliedMigrations, LaterSchema, migrateDown, migrateUp } from './migrate.ts';
import type { Migration } from './migration.ts';

let database: Database;
let end: () => Promise<void>;
beforeAll(async () => {
  ({ database, end } = await temporaryDatabase());
}, 60_000);
afterAll(() => end());

const ALONE = { alone: true };
const SHARED = { alone: false, waitMs: 20_000 };
const IDS = MIGRATIONS.map(({ id }) => id);
const Name = z.object({ name: z.string() });
const tables = async () =>
  (
    await database.rows(Name, 'SELECT name FROM system.tables WHERE database = {db:String} ORDER BY name', {
      db: database.name,
    })
  ).map(({ name }) => name);
const put = () => insertRows(database, [rowsOf(settledEvent(1), { days: 3, tenants: {} })]);

describe('migrations', () => {
  it('are numbered from 1 without a gap, and each can be taken back', () => {
    expect(IDS).toEqual(IDS.map((_, index) => index + 1));
    expect(MIGRATIONS.every(({ up, down }) => up.length > 0 && down.length > 0)).toBe(true);
  });

  it('go up, down and up again, and are recorded', async () => {
    expect(await migrateUp(database, MIGRATIONS, ALONE)).toEqual(IDS);
    expect(await migrateUp(database, MIGRATIONS, ALONE)).toEqual([]);
    expect(await appliedMigrations(database)).toEqual(IDS);
    await put();
    expect(await migrateDown(database, MIGRATIONS, 0, ALONE)).toEqual(IDS.toReversed());
    expect(await appliedMigrations(database)).toEqual([]);
    expect(await tables()).toEqual(['migrations']);
    expect(await migrateUp(database, MIGRATIONS, ALONE)).toEqual(IDS);
    await put();
    expect(await tables()).toEqual(['calls', 'events', 'migrations', 'payloads', 'spans', 'tasks', 'trace_times']);
  });

  it('go down to a step and no further', async () => {
    await migrateUp(database, MIGRATIONS, ALONE);
    expect(await migrateDown(database, MIGRATIONS, 4, ALONE)).toEqual([6, 5]);
    expect(await appliedMigrations(database)).toEqual([1, 2, 3, 4]);
    expect(await migrateUp(database, MIGRATIONS, ALONE)).toEqual([5, 6]);
  });

  it('several starts at once apply each step once', async () => {
    await migrateDown(database, MIGRATIONS, 0, ALONE);
    const done = await Promise.all([1, 2, 3].map(() => migrateUp(database, MIGRATIONS, SHARED)));
    expect(done.flat().sort()).toEqual(IDS);
  });

  it('a step that failed in the middle is done again, and its lock is given back', async () => {
    const first: Migration = {
      id: 7,
      name: 'half',
      up: ['CREATE TABLE IF NOT EXISTS {db}.half (x UInt8) ENGINE = Memory', 'CREATE NONSENSE'],
      down: ['DROP TABLE IF EXISTS {db}.half SYNC'],
    };
    await expect(migrateUp(database, [...MIGRATIONS, first], SHARED)).rejects.toMatchObject({
      name: 'StoreUnavailable',
    });
    expect(await appliedMigrations(database)).toEqual(IDS);
    const mended = { ...first, up: first.up.slice(0, 1) };
    expect(await migrateUp(database, [...MIGRATIONS, mended], SHARED)).toEqual([7]);
    await expect(migrateUp(database, MIGRATIONS, SHARED)).rejects.toBeInstanceOf(LaterSchema);
    expect(await migrateDown(database, [...MIGRATIONS, mended], 6, SHARED)).toEqual([7]);
  });

  it('a lock that another one holds is waited for; one that was left behind is taken', async () => {
    await database.command('CREATE TABLE {db}.migration_lock (x UInt8) ENGINE = Memory');
    const shortly = { alone: false, waitMs: 300 };
    await expect(migrateUp(database, MIGRATIONS, shortly)).rejects.toThrow('another process');
    expect(await migrateUp(database, MIGRATIONS, { ...shortly, waitMs: 10_000, staleSeconds: 1 })).toEqual([]);
    await database.command('CREATE TABLE {db}.migration_lock (x UInt8) ENGINE = Memory');
    expect(await migrateUp(database, MIGRATIONS, ALONE)).toEqual([]);
  });
});

describe('the tables', () => {
  it('rows that came twice become one, and expired ones go, when parts are merged', async () => {
    const now = Date.now();
    const keep = { days: 3, tenants: {} };
    const fresh = rowsOf(settledEvent(2, { at: now }), keep);
    const old = rowsOf(settledEvent(3, { at: now - 5 * 86_400_000 }), keep);
    for (let round = 0; round < 3; round += 1) await insertRows(database, [fresh, old]);
    const Count = z.object({ rows: z.number(), ids: z.number() });
    for (const [table, id] of [
      ['calls', 'call_id'],
      ['events', 'event_id'],
      ['trace_times', 'id'],
    ] as const) {
      await database.command(`OPTIMIZE TABLE {db}.${table} FINAL`);
      const [count] = await database.rows(
        Count,
        `SELECT count() AS rows, uniqExact(${id}) AS ids FROM {db}.${table} WHERE tenant = 'acme'`,
      );
      expect(count?.rows).toBe(count?.ids);
      const left = await database.rows(
        Count,
        `SELECT count() AS rows, 0 AS ids FROM {db}.${table} WHERE expires_at < now()`,
      );
      expect(left).toEqual([{ rows: 0, ids: 0 }]);
    }
  });

  it('a task is one row, whichever of its two events comes first', async () => {
    const base = { service: 'router', tenant: 'acme', actor: { tenant: 'acme', user: 'ada', agent: 'coder' } };
    const taskId = 't-0123456789abcdefghjkmnpqrs';
    const at = Date.now();
    const created = { ...base, id: 'c', type: 'task.created' as const, at, taskId, attributes: {} };
    const ended = {
      ...base,
      id: 'e',
      type: 'task.ended' as const,
      at: at + 9,
      taskId,
      attributes: { outcome: 'success' },
    };
    for (const event of [ended, created, ended]) await insertRows(database, [rowsOf(event, { days: 3, tenants: {} })]);
    const Task = z.object({ user: z.string(), created: z.number(), ended: z.number(), outcome: z.string() });
    const rows = await database.rows(
      Task,
      `SELECT max(user) AS user, max(created_at) AS created, max(ended_at) AS ended, max(outcome) AS outcome
       FROM {db}.tasks WHERE tenant = 'acme' AND task_id = {task:String} GROUP BY tenant, task_id`,
      { task: taskId },
    );
    expect(rows).toEqual([{ user: 'ada', created: at, ended: at + 9, outcome: 'success' }]);
  });

  it('the engine keeps no log tables of its own', async () => {
    const found = await database.rows(
      Name,
      "SELECT name FROM system.tables WHERE database = 'system' AND name LIKE '%\\\\_log' LIMIT 10",
    );
    expect(found).toEqual([]);
  });
});
