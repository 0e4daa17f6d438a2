import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Database } from '../database.ts';
import { clientOfEngine } from './engine-connection.ts';
import { EngineKeeper, type KeeperOptions } from './engine-keeper.ts';

const MIB = 1024 * 1024;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const directory = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'toolfabric-engine-'));
  ends.push(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
};

const open = async (options: Partial<KeeperOptions> = {}, times = { queryMs: 15_000, insertMs: 15_000 }) => {
  const events: string[] = [];
  const keeper = new EngineKeeper({
    directory: options.directory ?? (await directory()),
    memoryBytes: 1024 * MIB,
    module: 'chdb',
    onEvent: (event) => events.push(event),
    ...options,
  });
  ends.push(() => keeper.close());
  return { keeper, events, database: new Database(clientOfEngine(keeper, times), 'kept') };
};

const Count = z.object({ n: z.number() });
const makeTable = async (database: Database) => {
  await database.command('CREATE DATABASE IF NOT EXISTS {db}');
  await database.command('CREATE TABLE IF NOT EXISTS {db}.t (x UInt64) ENGINE = ReplacingMergeTree ORDER BY x');
};
const put = (database: Database, from: number, count: number) =>
  database.insert(
    't',
    Array.from({ length: count }, (_, n) => JSON.stringify({ x: from + n })),
  );
const countOf = async (database: Database) =>
  (await database.rows(Count, 'SELECT uniqExact(x) AS n FROM {db}.t'))[0]?.n;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const until = async (predicate: () => boolean): Promise<void> => {
  const deadline = performance.now() + 20_000;
  while (!predicate()) {
    if (performance.now() > deadline) throw new Error('it did not come true');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

describe('the process of the engine', () => {
  it('yields to the other processes of its machine', async () => {
    const { keeper, database } = await open({ niceness: 7 });
    await makeTable(database);
    const { pid } = keeper.status;
    expect(getPriority(pid)).toBe(7);
    // Those of the runtime were there before; the threads of the engine are most of them.
    const tasks = (await readdir(`/proc/${pid}/task`)).map(Number);
    const nice = tasks.filter((task) => getPriority(task) === 7);
    expect(nice.length).toBeGreaterThan(tasks.length / 2);
  });

  it('killed again and again under inserts loses nothing that was acknowledged', async () => {
    const { keeper, database, events } = await open();
    await makeTable(database);
    let acknowledged = 0;
    let killed = 0;
    for (let batch = 0; batch < 36; batch += 1) {
      const from = batch * 500;
      const inserting = put(database, from, 500);
      if (batch % 12 === 5) {
        // In the middle of the insert, before, or after it: whatever the moment is.
        setTimeout(() => keeper.status.pid > 0 && process.kill(keeper.status.pid, 'SIGKILL'), batch % 7);
        killed += 1;
      }
      await inserting.catch(() => put(database, from, 500));
      acknowledged += 500;
    }
    await until(() => events.filter((event) => event === 'ended').length === killed);
    expect(await countOf(database)).toBe(acknowledged);
    expect(keeper.status.starts).toBe(killed + 1);
  });

  it('is renewed between two pieces of work when it holds more than its bound, and nothing is lost', async () => {
    // Less than the engine holds once it is open: every piece of work is followed by a new process.
    const { keeper, database, events } = await open({ memoryBytes: 200 * MIB });
    await makeTable(database);
    for (let batch = 0; batch < 3; batch += 1) await put(database, batch * 100, 100);
    expect(await countOf(database)).toBe(300);
    await until(() => events.includes('renewed'));
    expect(keeper.status.starts).toBeGreaterThan(1);
  });

  it('over its bound gets no new work, so that it is renewed even under questions that never pause', async () => {
    const { keeper, database, events } = await open({ memoryBytes: 200 * MIB });
    await makeTable(database);
    const stop = performance.now() + 2_000;
    const asking = Array.from({ length: 4 }, async () => {
      let answered = 0;
      while (performance.now() < stop || !events.includes('renewed')) {
        await database.rows(Count, 'SELECT toUInt8(sleepEachRow(0.05)) + count() AS n FROM {db}.t');
        answered += 1;
      }
      return answered;
    });
    expect(Math.min(...(await Promise.all(asking)))).toBeGreaterThan(0);
    expect(keeper.status.starts).toBeGreaterThan(1);
  });

  it('far above its bound is ended at once', async () => {
    const { events } = await open({ memoryBytes: 64 * MIB });
    await until(() => events.includes('over_memory') && events.includes('ended'));
  });

  it('that stands still is ended and replaced: work goes on without it', async () => {
    const { keeper, database } = await open({}, { queryMs: 1_500, insertMs: 1_500 });
    await makeTable(database);
    await put(database, 0, 10);
    const { pid } = keeper.status;
    process.kill(pid, 'SIGSTOP');
    await expect(put(database, 10, 10)).rejects.toMatchObject({ name: 'StoreUnavailable' });
    await until(() => !isAlive(pid));
    await until(() => keeper.status.state === 'open');
    await put(database, 10, 10);
    expect(await countOf(database)).toBe(20);
  });

  it('a second one on the same directory says that it is locked, and takes over when the first one ends', async () => {
    const path = await directory();
    const first = await open({ directory: path });
    await makeTable(first.database);
    await put(first.database, 0, 5);
    const second = await open({ directory: path });
    await until(() => second.keeper.status.reason.includes('another process holds'));
    await first.keeper.close();
    await until(() => second.keeper.status.state === 'open');
    expect(await countOf(second.database)).toBe(5);
  });

  it('TR-1: without its package it is absent, says what to install, and refuses at once', async () => {
    const { keeper, database } = await open({ module: 'no-such-engine-package' });
    await expect(database.command('SELECT 1')).rejects.toThrow(/install the optional package chdb/);
    expect(keeper.status.state).toBe('absent');
    expect(keeper.status.starts).toBe(1);
  });

  it('ends when it is closed, and takes nothing after that', async () => {
    const { keeper, database } = await open();
    await makeTable(database);
    const { pid } = keeper.status;
    await keeper.close();
    await keeper.close();
    expect(isAlive(pid)).toBe(false);
    await expect(put(database, 0, 1)).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });
});
