import type { FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ABORTED, WAITING } from '../peers/truth/src/tools.ts';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'cancels' })).taskId;
});
afterAll(() => cluster.stop());

const start = (tool: string, args: Record<string, string | number>, deadlineMs?: number) =>
  client.startCall({ taskId, tool, args, ...(deadlineMs === undefined ? {} : { deadlineMs }) });
const claimIs = (callId: string, state: string | undefined) =>
  expect.poll(async () => (await cluster.claim('truth', callId))?.state, { timeout: 20_000 }).toBe(state);

/** What the tool itself says in the log: that it begins to wait, and that it was told to stop. */
const lines = (identity: string, callId: string) =>
  cluster.truth(identity).filter((line) => line.callId === callId).length;
const toolWaits = (callId: string) => expect.poll(() => lines(WAITING, callId), { timeout: 10_000 }).toBe(1);
const toolStops = (callId: string) => expect.poll(() => lines(ABORTED, callId), { timeout: 10_000 }).toBe(1);

describe('RE-4: cancel against each state of the claim', () => {
  it('absent: nothing was taken, nothing will be', async () => {
    await cluster.killAll('truth');
    const { callId } = await start('truth.append', { identity: 'cancel-absent' });
    const end = await client.cancelCall(callId);
    expect(end).toMatchObject({
      state: 'cancelled',
      result: { status: 'error', error: { type: 'cancelled' }, sideEffect: 'none' },
    });
    await cluster.ensure('truth');
    await expect.poll(async () => cluster.ledger.work.has('truth', 1), { timeout: 10_000 }).toBe(false);
    expect(cluster.truth('cancel-absent')).toHaveLength(0);
  });

  it('claimed: the execution is taken away, and the worker stops it', async () => {
    const { callId } = await start('truth.slow_claimed', { delay_ms: 20_000 });
    await claimIs(callId, 'claimed');
    await toolWaits(callId);
    expect(await client.cancelCall(callId)).toMatchObject({ state: 'cancelled' });
    await toolStops(callId);
    expect(await cluster.claim('truth', callId)).toMatchObject({ state: 'cancelled' });
    expect((await client.getCall(callId)).state).toBe('cancelled');
  });

  it('started: the worker is asked, and what it says then stands', async () => {
    const { callId } = await start('truth.append', { identity: 'cancel-started', delay_ms: 1_500 });
    await claimIs(callId, 'started');
    expect((await client.cancelCall(callId)).state).toBe('running');
    expect(await cluster.claim('truth', callId)).toMatchObject({ cancelRequested: true });
    const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown', 'cancelled']);
    expect(end).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
    expect(cluster.truth('cancel-started')).toHaveLength(1);
  });

  it('done: the end stays', async () => {
    const done = await client.call({ taskId, tool: 'truth.append', args: { identity: 'cancel-done' } });
    expect(await client.cancelCall(done.callId)).toMatchObject({ state: 'ok' });
    expect((await client.cancelCall(done.callId)).state).toBe('ok');
  });

  it('orphaned: stays unknown, never becomes cancelled', async () => {
    const armed = await cluster.arm('truth', 'worker.started:kill');
    const { callId } = await start('truth.append_blind', { identity: 'cancel-orphaned' });
    await armed.exited;
    await cluster.ensure('truth');
    await cluster.waitForState(callId, ['unknown']);
    expect(await client.cancelCall(callId)).toMatchObject({ state: 'unknown', result: { sideEffect: 'possible' } });
  });

  it('claimless: ends at once, and the reader stops', async () => {
    const { callId } = await start('truth.slow_read', { delay_ms: 20_000 });
    await toolWaits(callId);
    const end = await client.cancelCall(callId);
    expect(end).toMatchObject({ state: 'cancelled', result: { error: { type: 'cancelled' } } });
    await toolStops(callId);
    expect(await cluster.ledger.results.get('truth', 'acme', callId, 1)).toMatchObject({ by: 'router' });
  });

  it('claimless and still in the queue: ends at once, and a reader that begins is stopped', async () => {
    await cluster.killAll('truth');
    const { callId } = await start('truth.slow_read', { delay_ms: 20_000 });
    expect(await client.cancelCall(callId)).toMatchObject({ state: 'cancelled' });
    await cluster.ensure('truth');
    expect((await client.call({ taskId, tool: 'truth.noop', args: {} })).state).toBe('ok');
    expect((await client.getCall(callId)).state).toBe('cancelled');
    // The worker need not look for a result before it reads a first delivery; it finds the end at its first beat.
    if (lines(WAITING, callId) > 0) await toolStops(callId);
  });

  it('waiting for a person: ends, and a later yes changes nothing', async () => {
    const { callId } = await start('truth.append_outside', { identity: 'cancel-waiting' });
    expect(await client.cancelCall(callId)).toMatchObject({ state: 'cancelled' });
    await cluster.grant(callId, await cluster.call(callId));
    expect((await client.call({ taskId, tool: 'truth.noop', args: {} })).state).toBe('ok');
    expect((await client.getCall(callId)).state).toBe('cancelled');
    expect(cluster.truth('cancel-waiting')).toHaveLength(0);
  });
});

describe('a deadline', () => {
  it('that passes in the queue: expired, no effect, nobody runs it later', async () => {
    await cluster.killAll('truth');
    const { callId } = await start('truth.append', { identity: 'expired-queued' }, 1_000);
    const end = await cluster.waitForState(callId, ['expired']);
    expect(end.result).toMatchObject({ status: 'error', error: { type: 'expired' }, sideEffect: 'none' });
    await cluster.ensure('truth');
    expect((await client.call({ taskId, tool: 'truth.noop', args: {} })).state).toBe('ok');
    expect(cluster.truth('expired-queued')).toHaveLength(0);
  });

  it('that passes while a read runs: expired', async () => {
    const { callId } = await start('truth.slow_claimed', { delay_ms: 20_000 }, 1_200);
    expect((await cluster.waitForState(callId, ['expired', 'ok', 'error'])).state).toBe('expired');
    await toolStops(callId);
  });

  it('that passes after the effect began: what happened is said, never expired', async () => {
    const { callId } = await start('truth.append', { identity: 'expired-started', delay_ms: 2_000 }, 1_000);
    const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown', 'expired'], 20_000);
    expect(end.state).toBe('ok');
    expect(cluster.truth('expired-started')).toHaveLength(1);
  });
});
