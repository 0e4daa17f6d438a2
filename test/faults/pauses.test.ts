import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { sha256Hex, uuidv7 } from '@toolfabric/kernel';
import type { SpawnedService } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth', 'cli']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'pauses' })).taskId;
});
afterAll(() => cluster.stop());

const start = (tool: string, identity: string) => client.startCall({ taskId, tool, args: { identity } });
const claimIs = (callId: string, state: string, kind = 'truth') =>
  expect.poll(async () => (await cluster.claim(kind, callId))?.state, { timeout: 20_000 }).toBe(state);

/** A worker that was declared dead while it stood still must not go on when it wakes. */
const wake = async (worker: SpawnedService) => {
  worker.kill('SIGCONT');
  expect((await worker.exited).code).toBe(1);
};

describe('L1: a worker that is paused beyond its claim and resumed', () => {
  it('before it started: the next epoch has run, and the first one can write nothing any more', async () => {
    const paused = await cluster.arm('truth', 'worker.claimed:pause');
    const { callId } = await start('truth.append', 'paused-claimed');
    await claimIs(callId, 'claimed');
    await cluster.ensure('truth');
    expect((await cluster.waitForState(callId, ['ok'])).epoch).toBe(2);
    await wake(paused);
    expect(cluster.truth('paused-claimed')).toHaveLength(1);
  });

  it('RE-2: after started, with no fence: epoch 2 never runs; the late receipt settles the call', async () => {
    const paused = await cluster.arm('truth', 'worker.started:pause');
    const { callId } = await start('truth.append_blind', 'paused-started');
    await claimIs(callId, 'started');
    await cluster.ensure('truth');
    const unknown = await cluster.waitForState(callId, ['unknown']);
    expect(unknown).toMatchObject({ epoch: 1, result: { status: 'unknown', sideEffect: 'possible' } });
    expect(cluster.truth('paused-started')).toHaveLength(0);
    paused.kill('SIGCONT');
    const end = await cluster.waitForState(callId, ['ok', 'error']);
    expect(end).toMatchObject({ state: 'ok', epoch: 1, result: { sideEffect: 'confirmed', attempt: 1 } });
    expect(cluster.truth('paused-started')).toHaveLength(1);
    expect((await paused.exited).code).toBe(1);
  });

  it('a file write: its kernel lock outlives the pause, so nobody else writes; in the end it is written once or not at all, as told', async () => {
    const path = join(cluster.workspaceRoot, uuidv7());
    mkdirSync(path);
    writeFileSync(join(path, 'a.txt'), 'before\n');
    const task = await client.createTask({ title: 'edit', workspace: { type: 'existing', path } });
    const paused = await cluster.arm('cli', 'worker.started:pause');
    const args = { path: 'a.txt', old_text: 'before', new_text: 'after', expected_sha256: sha256Hex('before\n') };
    const { callId } = await client.startCall({
      taskId: task.taskId,
      tool: 'workspace.edit_file',
      args,
      deadlineMs: 60_000,
    });
    await claimIs(callId, 'started', 'cli');
    await cluster.ensure('cli');
    await cluster.waitForState(callId, ['unknown']);
    await expect
      .poll(async () => (await cluster.call(callId))?.probe?.asked ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(1);
    expect((await cluster.call(callId))?.state).toBe('unknown');
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('before\n');
    paused.kill('SIGCONT');
    const end = await cluster.waitForState(callId, ['ok', 'error', 'cancelled', 'expired']);
    // It ends its write; or it gives up and says so; or its lock is free and the next epoch writes. Never two of them.
    const text = readFileSync(join(path, 'a.txt'), 'utf8');
    expect(['ok', 'error']).toContain(end.state);
    if (end.state === 'ok') expect(text).toBe('after\n');
    else expect({ text, sideEffect: end.result?.sideEffect }).toEqual({ text: 'before\n', sideEffect: 'none' });
    expect((await paused.exited).code).toBe(1);
  });
});

describe('a late result', () => {
  it('after the call was settled otherwise: kept as evidence, the state stays', async () => {
    await cluster.ensure('truth');
    const done = await client.call({ taskId, tool: 'truth.append', args: { identity: 'settled' } });
    expect(done.state).toBe('ok');
    const outcome = { status: 'error', summary: 'late', sideEffect: 'none', trust: 'trusted' } as const;
    const message = { callId: done.callId, tenant: 'acme', epoch: 2, outcome, by: 'somebody' };
    await cluster.ledger.results.createOnce('truth', message);
    await expect
      .poll(async () => (await cluster.call(done.callId))?.late, { timeout: 10_000 })
      .toEqual([{ epoch: 2, status: 'error' }]);
    expect(await client.getCall(done.callId)).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
  });
});
