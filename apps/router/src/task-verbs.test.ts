import type { Outcome, RpcRequest, TaskRecord } from '@toolfabric/contract';
import { createVerifier, FabricError, PACES, silentLogger, taskIdFor, uuidv7 } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { defineTool, type RunningWorker, runWorker } from '@toolfabric/worker-runtime';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Front } from './testing/front.ts';
import { ADA } from './testing/sample-call.ts';
import { startRouter } from './testing/start-router.ts';

let nats: TestNats;
let router: RunningService;
let front: Front;
const workers: RunningWorker[] = [];

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  router = await startRouter(nats);
  const gateway = await nats.connectAsGateway();
  front = new Front((verb, body) => gateway.request(verb as 'call', body, 20_000));
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});
afterAll(async () => {
  await router.stop();
  await nats.stop();
});

type Create = Partial<RpcRequest<'createTask'>>;
const create = (changes: Create = {}): Promise<TaskRecord> =>
  front.ask('createTask', { actor: ADA, requestKey: uuidv7(), title: 'mend it', ...changes });
const end = (taskId: string, outcome: 'succeeded' | 'failed' | 'abandoned', actor = ADA) =>
  front.ask('endTask', { actor, taskId, outcome });

/** An executor that makes workspaces ready as it is told; counts how often it was asked. */
const prepares = async (handle: () => Promise<Outcome>) => {
  const runs: string[] = [];
  const tool = defineTool({
    handler: 'workspace.prepare',
    effect: 'workspace',
    args: z.strictObject({}),
    handle: (ctx) => {
      runs.push(ctx.workspace?.id ?? '');
      return handle();
    },
  });
  const ports = await nats.connectAsWorker('cli');
  workers.push(
    await runWorker({
      kind: 'cli',
      ports,
      tools: [tool],
      verifier: createVerifier(nats.signing.publicKeys),
      pace: PACES.test,
      slots: 4,
      isolation: ['process'],
      log: silentLogger,
    }),
  );
  return runs;
};
const ready = async (): Promise<Outcome> => ({
  status: 'ok',
  summary: 'ready',
  sideEffect: 'confirmed',
  trust: 'trusted',
});

describe('a task', () => {
  it.each([
    ['constraints', { constraints: { writable: ['src/**'] } }, { constraints: { writable: ['**'] } }],
    ['a budget', { budget: { spend: 5 } }, { budget: { spend: 6 } }],
    ['a mode', { mode: 'serial' }, {}],
  ] as const)('FD-5, PO-9: keeps %s; another one under the same key is a conflict', async (_what, rules, other) => {
    const requestKey = uuidv7();
    const [mine, others] = [JSON.parse(JSON.stringify(rules)), JSON.parse(JSON.stringify(other))];
    const task = await create({ requestKey, ...mine });
    expect(task).toMatchObject(mine);
    expect(await create({ requestKey, ...mine })).toEqual(task);
    await expect(create({ requestKey, ...others })).rejects.toMatchObject({ type: 'conflict' });
    await expect(create({ requestKey })).rejects.toMatchObject({ type: 'conflict' });
  });

  it('without a workspace is open at once, under an id that follows from its key', async () => {
    const requestKey = uuidv7();
    const task = await create({ requestKey });
    expect(task).toMatchObject({ title: 'mend it', state: 'open', actor: ADA });
    expect(task).not.toHaveProperty('workspace');
    expect(task.taskId).toBe(taskIdFor(ADA, requestKey, Date.now()));
    expect(await front.ask('getTask', { actor: ADA, taskId: task.taskId })).toEqual(task);
  });

  it('RE-1: is made once, however often it is asked for', async () => {
    const requestKey = uuidv7();
    const tasks = await Promise.all(Array.from({ length: 5 }, () => create({ requestKey })));
    expect(new Set(tasks.map((task) => JSON.stringify(task))).size).toBe(1);
    expect(await create({ requestKey })).toEqual(tasks[0]);
  });

  it.each<[string, Create]>([
    ['another title', { title: 'mend something else' }],
    ['a workspace', { workspace: { type: 'empty' } }],
  ])('RE-1: the same key with %s is a conflict, and leaves the first as it was', async (_what, other) => {
    const requestKey = uuidv7();
    const task = await create({ requestKey });
    await expect(create({ requestKey, ...other })).rejects.toMatchObject({ type: 'conflict', message: /before/ });
    expect(await front.ask('getTask', { actor: ADA, taskId: task.taskId })).toEqual(task);
  });

  it('RS-4: the same key of somebody else makes another task', async () => {
    const requestKey = uuidv7();
    const mine = await create({ requestKey });
    for (const actor of [
      { ...ADA, user: 'bob' },
      { ...ADA, agent: 'reviewer' },
      { ...ADA, tenant: 'rival' },
    ]) {
      const theirs = await create({ requestKey, actor });
      expect(theirs.taskId).not.toBe(mine.taskId);
      await expect(end(mine.taskId, 'failed', actor)).rejects.toMatchObject({ type: 'not_found' });
      await expect(front.ask('getTask', { actor, taskId: mine.taskId })).rejects.toMatchObject({ type: 'not_found' });
    }
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['a text', 'not a key'],
    ['a random UUID', 'f47ac10b-58cc-4372-a567-0e02b2c3d479'],
    ['one that lies ahead', uuidv7(Date.now() + 120_000)],
    ['one that is older than what is kept', uuidv7(1)],
  ])('RE-1: with a request key that is none is refused: %s', async (_what, requestKey) => {
    await expect(create({ requestKey })).rejects.toMatchObject({ type: 'request_key_out_of_range' });
  });
});

describe('the end of a task', () => {
  it('is stored once; the same end again gives the same answer', async () => {
    const { taskId } = await create();
    const ended = await end(taskId, 'succeeded');
    expect(ended).toMatchObject({ state: 'ended', outcome: 'succeeded', endedAt: expect.any(Number) });
    expect(await end(taskId, 'succeeded')).toEqual(ended);
    expect(await front.ask('getTask', { actor: ADA, taskId })).toEqual(ended);
  });

  it('with another outcome is refused, and changes nothing', async () => {
    const { taskId } = await create();
    const ended = await end(taskId, 'abandoned');
    await expect(end(taskId, 'succeeded')).rejects.toMatchObject({ type: 'task_ended' });
    expect(await front.ask('getTask', { actor: ADA, taskId })).toEqual(ended);
  });

  it('is given to a late retry of its creation', async () => {
    const requestKey = uuidv7();
    const { taskId } = await create({ requestKey });
    await end(taskId, 'failed');
    expect(await create({ requestKey })).toMatchObject({ taskId, state: 'ended', outcome: 'failed' });
  });
});

describe('a task with a workspace', () => {
  const workspace = { type: 'empty' } as const;

  // The first of them: a pool that was served a moment ago is still routed to.
  it('OP-1: waits for an executor: the retry goes on where the first try stopped', async () => {
    const requestKey = uuidv7();
    await expect(create({ requestKey, workspace })).rejects.toMatchObject({ type: 'no_executor' });
    const taskId = taskIdFor(ADA, requestKey, Date.now());
    expect(await front.ask('getTask', { actor: ADA, taskId })).toMatchObject({ state: 'preparing' });
    await expect(front.call({ taskId })).rejects.toMatchObject({ type: 'unavailable' });
    const runs = await prepares(ready);
    const task = await create({ requestKey, workspace });
    expect(task).toMatchObject({ taskId, state: 'open', workspace: { id: taskId, source: workspace } });
    expect(runs).toEqual([taskId]);
    expect(await create({ requestKey, workspace })).toEqual(task);
    expect(runs).toHaveLength(1);
  });

  it('RE-1: is prepared once, by however many at once', async () => {
    const runs = await prepares(ready);
    const requestKey = uuidv7();
    const tasks = await Promise.all(Array.from({ length: 4 }, () => create({ requestKey, workspace })));
    expect(tasks.map(({ state }) => state)).toEqual(['open', 'open', 'open', 'open']);
    expect(runs).toHaveLength(1);
  });

  it('RE-1: on another place under the same key is a conflict', async () => {
    await prepares(ready);
    const requestKey = uuidv7();
    await create({ requestKey, workspace });
    const elsewhere = { type: 'existing', path: '/elsewhere' } as const;
    await expect(create({ requestKey, workspace: elsewhere })).rejects.toMatchObject({ type: 'conflict' });
    await expect(create({ requestKey })).rejects.toMatchObject({ type: 'conflict' });
  });

  it('that cannot be one ends the task, and every retry hears why', async () => {
    const runs = await prepares(async () => {
      throw new FabricError('workspace_refused', 'the directory belongs to root');
    });
    const requestKey = uuidv7();
    for (let n = 0; n < 3; n += 1)
      await expect(create({ requestKey, workspace })).rejects.toMatchObject({
        type: 'workspace_refused',
        message: 'the directory belongs to root',
      });
    const taskId = taskIdFor(ADA, requestKey, Date.now());
    expect(await front.ask('getTask', { actor: ADA, taskId })).toMatchObject({ state: 'ended', outcome: 'failed' });
    expect(runs).toHaveLength(1);
  });

  it('RE-3: whose executor was shut down on the way is prepared by the next', async () => {
    let tries = 0;
    const runs = await prepares(async () => {
      tries += 1;
      if (tries < 3) throw new FabricError('worker_drained', 'the worker was shut down');
      return ready();
    });
    expect(await create({ workspace })).toMatchObject({ state: 'open' });
    expect(runs).toHaveLength(3);
  });
});
