import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { WEEK_MS } from '@toolfabric/contract';
import { FabricError, shortHash, taskIdFor, uuidv7 } from '@toolfabric/kernel';
import { taskKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth', 'cli']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'again' })).taskId;
}, 60_000);
afterAll(() => cluster.stop());

const append = (args: Record<string, string | number>, requestKey: string, tool = 'truth.append') =>
  client.call({ taskId, tool, args, requestKey });

describe('RE-1: a request key that was used before', () => {
  it.each<[string, Record<string, string | number>, string]>([
    ['arguments that do not fit the tool', { identity: 'key', more: 1 }, 'truth.append'],
    ['arguments that are too long', { identity: 'x'.repeat(20_000) }, 'truth.append'],
    ['a tool that does not exist', { identity: 'key' }, 'truth.nothing'],
    ['a version that does not exist', { identity: 'key' }, 'truth.append@9.9.9'],
    ['another tool', { identity: 'key' }, 'truth.append_blind'],
  ])('is a conflict with %s, although that would be refused by itself', async (_name, args, tool) => {
    const requestKey = uuidv7();
    const first = await append({ identity: 'key' }, requestKey);
    expect(first.state).toBe('ok');
    const other = await append(args, requestKey, tool);
    expect(other).toMatchObject({ state: 'refused', result: { error: { type: 'conflict' } } });
    expect(other.result).not.toHaveProperty('data');
    expect(await append({ identity: 'key' }, requestKey)).toEqual(first);
  });

  it('finds its call with the version said, and when the tool was retired since', async () => {
    const publisher = cluster.client({ rights: ['registry:publish'] });
    const requestKey = uuidv7();
    const first = await append({ identity: 'retired' }, requestKey, 'truth.append_blind');
    expect(await append({ identity: 'retired' }, requestKey, 'truth.append_blind@1.0.0')).toEqual(first);
    await publisher.deprecate('truth.append_blind', '1.0.0');
    await publisher.retire('truth.append_blind', '1.0.0');
    const refusedAnew = () => append({ identity: 'anew' }, uuidv7(), 'truth.append_blind');
    await waitFor(async () => (await refusedAnew()).state === 'refused', { everyMs: 200 });
    expect(await append({ identity: 'retired' }, requestKey, 'truth.append_blind')).toEqual(first);
    const other = await append({ identity: 'other' }, requestKey, 'truth.append_blind');
    expect(other).toMatchObject({ state: 'refused', result: { error: { type: 'conflict' } } });
    expect(cluster.truth('retired')).toHaveLength(1);
  });
});

describe('L5: a call that waits for a person', () => {
  it('has its whole time left after the answer, however long that took', async () => {
    const deadlineMs = 1_500;
    const args = { identity: 'patience' };
    const { callId, createdAt } = await client.startCall({ taskId, tool: 'truth.append_outside', args, deadlineMs });
    await waitFor(() => Date.now() > createdAt + deadlineMs + 500);
    expect((await client.getCall(callId)).state).toBe('awaiting_approval');
    const grantedAt = Date.now();
    await cluster.grant(callId);
    const end = await cluster.waitForState(callId, ['ok', 'error', 'expired', 'denied', 'unknown']);
    expect(end).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
    expect(end.deadline).toBeGreaterThanOrEqual(grantedAt + deadlineMs);
    expect(cluster.truth('patience')).toHaveLength(1);
  });
});

describe('a task whose workspace', () => {
  it.each([
    ['lies outside of the roots', '/etc'],
    ['does not exist', '/nowhere/at/all'],
  ])('%s is refused with the same error at a retry', async (_name, path) => {
    const task = { title: 'refused', requestKey: uuidv7(), workspace: { type: 'existing' as const, path } };
    const [first, second] = [await refusal(task), await refusal(task)];
    expect(first.type).toMatch(/^workspace_/);
    expect(second.toToolError()).toEqual(first.toToolError());
    const key = taskKey(ADA.tenant, taskIdFor(ADA, task.requestKey, Date.now()));
    expect((await cluster.ledger.tasks.get(key))?.value).toMatchObject({
      state: 'ended',
      outcome: 'failed',
      failure: { type: first.type },
    });
  });

  it('OP-3: was being prepared when its worker was shut down is prepared by the next one, and the task is open', async () => {
    const path = join(cluster.workspaceRoot, 'drained');
    mkdirSync(path);
    const task = { title: 'drained', requestKey: uuidv7(), workspace: { type: 'existing' as const, path } };
    const id = taskIdFor(ADA, task.requestKey, Date.now());
    const holder = await holdPreparation(id);
    const making = client.createTask(task, { timeoutMs: 40_000 });
    making.catch(() => {});
    const first = prepareCallId(id, 1);
    await waitFor(async () => (await cluster.claim('cli', first))?.state === 'claimed', { what: 'the preparation' });
    const worker = await cluster.ensure('cli');
    worker.kill('SIGTERM');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    const isTriedAgain = async () => (await cluster.call(first))?.epoch === 2;
    await waitFor(isTriedAgain, { what: 'the next epoch of the preparation' });
    await holder.end();
    await cluster.ensure('cli');
    const open = await making;
    expect(open).toMatchObject({ taskId: id, state: 'open' });
    expect(await cluster.call(first)).toMatchObject({ state: 'ok', result: { attempt: 2 } });
    const listed = await client.call({ taskId: open.taskId, tool: 'workspace.list_files', args: {} });
    expect(listed.state).toBe('ok');
    expect(await client.createTask(task)).toEqual(open);
  }, 60_000);
});

const refusal = async (task: Parameters<FabricClient['createTask']>[0]): Promise<FabricError> => {
  const thrown = await client.createTask(task).catch((error: unknown) => error);
  if (!(thrown instanceof FabricError)) throw new Error('the task was not refused');
  return thrown;
};

const prepareCallId = (id: string, attempt: number): string =>
  `${Math.floor(Date.now() / WEEK_MS)}-${shortHash('prepare', id, attempt)}`;

/** Holds the lock under which a workspace is prepared, so that its preparation waits. */
const holdPreparation = async (id: string): Promise<{ end(): Promise<void> }> => {
  const file = join(cluster.directory, 'state', 'locks', `prepare-${id}`);
  const child = spawn('flock', ['-x', file, 'sh', '-c', 'echo held; exec sleep 60'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const gone = once(child, 'close');
  return {
    async end() {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await gone;
    },
  };
};
