import { setImmediate } from 'node:timers/promises';
import type { LedgerBus } from '@toolfabric/bus-nats';
import type { Actor, TaskRecord } from '@toolfabric/contract';
import { taskKey } from '@toolfabric/ledger';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TaskCache } from './task-cache.ts';
import { delegateStore } from './testing/delegate-store.ts';
import { ADA } from './testing/sample-call.ts';

let nats: TestNats;
let bus: LedgerBus;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
});
afterAll(() => nats.stop());

let count = 0;
const stored = async (changes: Partial<TaskRecord> = {}): Promise<TaskRecord> => {
  count += 1;
  const taskId = `t-${String(count).padStart(26, '0')}`;
  const task: TaskRecord = { taskId, actor: ADA, title: 't', state: 'open', createdAt: 1, ...changes };
  await bus.tasks.create(taskKey(task.actor.tenant, taskId), task);
  return task;
};
const change = async (task: TaskRecord, changes: Partial<TaskRecord>) => {
  const key = taskKey(task.actor.tenant, task.taskId);
  const found = await bus.tasks.get(key);
  await bus.tasks.update(key, { ...task, ...changes }, found?.revision ?? 0);
};

/** A cache whose reads are counted, and that can be held up. */
const openCache = (most = 10) => {
  const reads: string[] = [];
  const gate = { open: Promise.resolve() };
  const store = delegateStore(bus.tasks, {
    get: async (key) => {
      reads.push(key);
      await gate.open;
      return bus.tasks.get(key);
    },
  });
  return { cache: new TaskCache(store, most), reads, gate };
};

describe('a task that a call names', () => {
  it('is read before anything when it was never seen', async () => {
    const task = await stored();
    const { cache, reads } = openCache();
    const known = await cache.open(ADA, task.taskId);
    expect(known.task).toEqual(task);
    await known.confirm();
    expect(reads).toHaveLength(1);
  });

  it('is given at once when it was seen, and is read beside', async () => {
    const task = await stored();
    const { cache, reads, gate } = openCache();
    await cache.open(ADA, task.taskId);
    const held = Promise.withResolvers<void>();
    gate.open = held.promise;
    const known = await cache.open(ADA, task.taskId);
    expect(known.task).toEqual(task);
    let confirmed = false;
    const confirming = known.confirm().then(() => {
      confirmed = true;
    });
    expect(reads).toHaveLength(2);
    expect(confirmed).toBe(false);
    held.resolve();
    await confirming;
  });

  it('that ended since is refused by its confirmation, and by the next call at once', async () => {
    const task = await stored();
    const { cache } = openCache();
    await cache.open(ADA, task.taskId);
    await change(task, { state: 'ended', outcome: 'succeeded' });
    const known = await cache.open(ADA, task.taskId);
    await expect(known.confirm()).rejects.toMatchObject({ type: 'task_ended' });
    await expect(cache.open(ADA, task.taskId)).rejects.toMatchObject({ type: 'task_ended' });
  });

  it('that could not be read again is not confirmed', async () => {
    const task = await stored();
    let broken = false;
    const store = delegateStore(bus.tasks, {
      get: (key) => (broken ? Promise.reject(new Error('no answer')) : bus.tasks.get(key)),
    });
    const cache = new TaskCache(store, 10);
    await cache.open(ADA, task.taskId);
    broken = true;
    await expect((await cache.open(ADA, task.taskId)).confirm()).rejects.toThrow('no answer');
  });

  it.each<[string, Actor]>([
    ['user', { ...ADA, user: 'bob' }],
    ['agent', { ...ADA, agent: 'reviewer' }],
    ['tenant', { ...ADA, tenant: 'rival' }],
  ])('RS-4: of another %s is not found, whether this router knows it or not', async (_what, other) => {
    const task = await stored();
    const { cache } = openCache();
    await expect(cache.open(other, task.taskId)).rejects.toMatchObject({ type: 'not_found' });
    await cache.open(ADA, task.taskId);
    await expect(cache.open(other, task.taskId)).rejects.toMatchObject({ type: 'not_found' });
  });

  it.each([
    ['preparing', 'unavailable'],
    ['ended', 'task_ended'],
  ] as const)('that is %s is refused as %s, and looked at again the next time', async (state, type) => {
    const task = await stored({ state });
    const { cache, reads } = openCache();
    await expect(cache.open(ADA, task.taskId)).rejects.toMatchObject({ type });
    await expect(cache.open(ADA, task.taskId)).rejects.toMatchObject({ type });
    expect(reads).toHaveLength(2);
  });
});

describe('the memory of tasks', () => {
  it('is bounded: the one that was not used for longest is read again', async () => {
    const { cache, gate } = openCache(2);
    const tasks = [await stored(), await stored(), await stored()];
    const [first, second, third] = tasks.map(({ taskId }) => taskId) as [string, string, string];
    for (const id of [first, second]) await cache.open(ADA, id);
    await (await cache.open(ADA, first)).confirm();
    await cache.open(ADA, third);
    const held = Promise.withResolvers<void>();
    gate.open = held.promise;
    const settled: string[] = [];
    for (const id of [third, first, second]) void cache.open(ADA, id).then(() => settled.push(id));
    await Promise.resolve().then(() => setImmediate());
    expect(settled).toEqual([third, first]);
    held.resolve();
    await vi.waitFor(() => expect(settled).toEqual([third, first, second]));
  });
});
