import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@toolfabric/kernel';
import { Database } from '../database.ts';
import { clientOfEngine } from '../engine/engine-connection.ts';
import { EngineKeeper } from '../engine/engine-keeper.ts';
import { openTraceStore, type TraceStore } from '../trace-store.ts';

const MIB = 1024 * 1024;
export const TEST_TIMES = { queryMs: 20_000, insertMs: 20_000 };

const temporary = () => mkdtemp(join(tmpdir(), 'toolfabric-traces-'));

/** A store over a real embedded engine, with its schema, in a directory that `end` deletes. */
export const temporaryStore = async (): Promise<{ store: TraceStore; directory: string; end(): Promise<void> }> => {
  const directory = await temporary();
  const store = await openTraceStore({ type: 'chdb', directory, memoryBytes: 1024 * MIB, ...TEST_TIMES }, silentLogger);
  await store.whenReady(AbortSignal.timeout(30_000));
  return {
    store,
    directory,
    async end() {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

/** An empty database in a real embedded engine, without a schema. */
export const temporaryDatabase = async (
  directory?: string,
): Promise<{ database: Database; keeper: EngineKeeper; directory: string; end(): Promise<void> }> => {
  const path = directory ?? (await temporary());
  const keeper = new EngineKeeper({ directory: path, memoryBytes: 1024 * MIB, module: 'chdb', onEvent: () => {} });
  const database = new Database(clientOfEngine(keeper, TEST_TIMES), 'toolfabric');
  return {
    database,
    keeper,
    directory: path,
    async end() {
      await database.close();
      await rm(path, { recursive: true, force: true });
    },
  };
};
