import type { FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ABORTED, WAITING } from '../peers/truth/src/tools.ts';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'background' })).taskId;
});
afterAll(() => cluster.stop());

interface Times {
  readonly delay_ms?: number;
  readonly hold_ms?: number;
}

const append = (identity: string, times: Times = {}): Promise<CallView> =>
  client.startCall({ taskId, tool: 'truth.long_append', args: { identity, ...times }, background: true });

const lines = (identity: string, callId: string) =>
  cluster.truth(identity).filter((line) => line.callId === callId).length;
const waits = (callId: string) => expect.poll(() => lines(WAITING, callId), { timeout: 10_000 }).toBe(1);
const claimIs = (callId: string, state: string) =>
  expect.poll(async () => (await cluster.claim('truth', callId))?.state, { timeout: 20_000 }).toBe(state);

/** Its message is gone from the queue, while its claim says that somebody is at it. */
const runsApart = async (callId: string) => {
  await waits(callId);
  const claim = await cluster.claim('truth', callId);
  await expect.poll(() => cluster.ledger.work.has('truth', claim?.sequence ?? 0), { timeout: 10_000 }).toBe(false);
  return claim;
};

/** The only worker dies at the fault point; a healthy one comes. */
const withDyingWorker = async (faults: string, identity: string, times?: Times) => {
  const armed = await cluster.arm('truth', faults);
  const { callId } = await append(identity, times);
  expect((await armed.exited).signal).toBe('SIGKILL');
  await cluster.ensure('truth');
  return callId;
};

describe('RE-5: a call in the background whose worker is killed', () => {
  it('while it holds the claim, not yet acknowledged: the next epoch runs, once', async () => {
    const callId = await withDyingWorker('worker.claimed:kill', 'bg-claimed');
    expect(await cluster.waitForState(callId, ['ok'])).toMatchObject({ epoch: 2, result: { attempt: 2 } });
    expect(cluster.truth('bg-claimed')).toHaveLength(1);
  });

  it('after the acknowledgement, before its effect: no message brings it back, the sweep does, once', async () => {
    const callId = await withDyingWorker('worker.background-acknowledged:kill', 'bg-acknowledged');
    expect(await cluster.waitForState(callId, ['ok'])).toMatchObject({ epoch: 2, result: { attempt: 2 } });
    expect(cluster.truth('bg-acknowledged')).toHaveLength(1);
    expect(await cluster.claim('truth', callId)).toMatchObject({ state: 'done', epoch: 2 });
  });

  it('after started and before the write: orphaned, never released, and it stays unknown', async () => {
    const callId = await withDyingWorker('worker.started:kill', 'bg-started');
    expect(await cluster.waitForState(callId, ['unknown'])).toMatchObject({ epoch: 1 });
    expect(await cluster.claim('truth', callId)).toMatchObject({ state: 'orphaned', epoch: 1 });
    expect(cluster.truth('bg-started')).toHaveLength(0);
  });

  it('after the write: found by the probe, one effect', async () => {
    const callId = await withDyingWorker('worker.after-write:kill', 'bg-written');
    expect(await cluster.waitForState(callId, ['ok'])).toMatchObject({ result: { sideEffect: 'confirmed' } });
    expect(cluster.truth('bg-written')).toHaveLength(1);
  });

  it('after done, before it published: settled from the claim, nothing runs again', async () => {
    const callId = await withDyingWorker('worker.after-done:kill', 'bg-done');
    expect(await cluster.waitForState(callId, ['ok'])).toMatchObject({ epoch: 1, result: { attempt: 1 } });
    expect(cluster.truth('bg-done')).toHaveLength(1);
  });

  it('after it published: the result stands', async () => {
    const callId = await withDyingWorker('worker.after-publish:kill', 'bg-published');
    expect(await cluster.waitForState(callId, ['ok'])).toMatchObject({ epoch: 1, result: { attempt: 1 } });
    expect(cluster.truth('bg-published')).toHaveLength(1);
  });

  it('L1: a worker that was paused beyond its life writes nothing any more', async () => {
    const paused = await cluster.arm('truth', 'worker.background-acknowledged:pause');
    const { callId } = await append('bg-paused');
    await claimIs(callId, 'claimed');
    await cluster.ensure('truth');
    expect((await cluster.waitForState(callId, ['ok'])).epoch).toBe(2);
    paused.kill('SIGCONT');
    expect((await paused.exited).code).toBe(1);
    expect(cluster.truth('bg-paused')).toHaveLength(1);
  });
});

describe('RE-5: a call in the background', () => {
  it('outlives the acknowledge wait three times over, the router, the gateway and the bus, and runs once', async () => {
    await cluster.ensure('truth');
    const { callId } = await append('bg-long', { delay_ms: 3 * PACES.test.ackWaitMs + 3_000 });
    const before = await runsApart(callId);
    expect(await client.getCall(callId)).toMatchObject({ state: 'running' });
    await cluster.killAll('router');
    await cluster.killAll('gateway');
    await Promise.all([cluster.ensure('router'), cluster.ensure('gateway')]);
    expect(await client.getCall(callId)).toMatchObject({ state: 'running' });
    await cluster.nats.kill();
    await cluster.nats.restart();
    const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown'], 40_000);
    expect(end).toMatchObject({ state: 'ok', epoch: 1, result: { attempt: 1, sideEffect: 'confirmed' } });
    expect(await cluster.claim('truth', callId)).toMatchObject({ epoch: 1, incarnation: before?.incarnation });
    expect(lines(WAITING, callId)).toBe(1);
    expect(cluster.truth('bg-long')).toHaveLength(1);
  });

  it('RE-4: is reached by a cancel, before its effect and after it', async () => {
    const early = await client.startCall({ taskId, tool: 'truth.long_read', args: { delay_ms: 15_000 } });
    await runsApart(early.callId);
    await client.cancelCall(early.callId);
    expect(await cluster.waitForState(early.callId, ['cancelled'])).toMatchObject({ result: { sideEffect: 'none' } });
    await expect.poll(() => lines(ABORTED, early.callId), { timeout: 10_000 }).toBe(1);

    const late = await append('bg-cancelled', { hold_ms: 15_000 });
    await runsApart(late.callId);
    expect(await client.cancelCall(late.callId)).toMatchObject({ state: 'running' });
    expect(await cluster.waitForState(late.callId, ['unknown', 'error'])).toMatchObject({ state: 'unknown' });
    expect(cluster.truth('bg-cancelled')).toHaveLength(0);
  });

  it('RE-4: ends at its deadline', async () => {
    const { callId } = await client.startCall({
      taskId,
      tool: 'truth.long_read',
      args: { delay_ms: 15_000 },
      deadlineMs: 2_500,
    });
    await runsApart(callId);
    expect(await cluster.waitForState(callId, ['expired'])).toMatchObject({ result: { sideEffect: 'none' } });
    await expect.poll(() => lines(ABORTED, callId), { timeout: 10_000 }).toBe(1);
  });

  it('holds no place for deliveries: with all of its own taken, others run on, and the next one waits its turn', async () => {
    await cluster.killAll('truth');
    const small = cluster.spawn('truth', '', { TOOLFABRIC_SLOTS: '1', TOOLFABRIC_BACKGROUND_SLOTS: '1' });
    await small.ready;
    const first = await append('bg-first', { delay_ms: 3_000 });
    await runsApart(first.callId);
    const second = await append('bg-second');
    const call = { taskId, tool: 'truth.append', args: { identity: 'fg' } };
    expect(await client.call(call, { waitMs: 15_000 })).toMatchObject({ state: 'ok' });
    await cluster.waitForState(first.callId, ['ok']);
    await cluster.waitForState(second.callId, ['ok']);
    expect(cluster.truth().findIndex(({ identity }) => identity === 'bg-second')).toBeGreaterThan(
      cluster.truth().findIndex(({ identity }) => identity === 'bg-first'),
    );
    await cluster.killAll('truth');
  });

  it.each([
    ['before its effect', { delay_ms: 18_000 }, 'error', 'none'],
    ['after its effect began', { hold_ms: 18_000 }, 'unknown', 'possible'],
  ])('OP-3: of a worker that drains ends when the drain does, %s', async (_when, times, state, sideEffect) => {
    const worker = await cluster.ensure('truth');
    const identity = `bg-drained-${state}`;
    const { callId } = await append(identity, times);
    await runsApart(callId);
    worker.kill('SIGTERM');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown']);
    expect(end).toMatchObject({ state, epoch: 1, result: { sideEffect } });
    if (state === 'error') expect(end.result?.error).toMatchObject({ type: 'worker_drained' });
    expect(cluster.truth(identity)).toHaveLength(0);
  });

  it('RT-4: is refused where the contract does not allow it, by the name of the field', async () => {
    const asked = client.startCall({ taskId, tool: 'truth.append', args: { identity: 'no' }, background: true });
    const view = await asked.catch((thrown: unknown) => ({ result: { error: thrown } }));
    expect(view.result?.error).toMatchObject({
      type: 'invalid_request',
      message: expect.stringContaining('background'),
    });
  });
});
