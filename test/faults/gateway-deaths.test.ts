import type { FabricClient } from '@toolfabric/client';
import { callIdFor, uuidv7 } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let taskId: string;
const client = (): FabricClient => cluster.client();

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  taskId = (await client().createTask({ title: 'gateways' })).taskId;
});
afterAll(() => cluster.stop());

const append = (identity: string, delay_ms = 0) => ({ taskId, tool: 'truth.append', args: { identity, delay_ms } });

describe('RE-3: a gateway that is killed', () => {
  it('right after the router accepted: the retry with the same key finds the call, which ran once', async () => {
    const armed = await cluster.arm('gateway', 'gateway.after-accept:kill');
    const requestKey = uuidv7();
    const first = client().call({ ...append('accepted'), requestKey }, { timeoutMs: 2_000, waitMs: 1_500 });
    await expect(first).rejects.toMatchObject({ type: 'unavailable' });
    expect((await armed.exited).signal).toBe('SIGKILL');
    await cluster.ensure('gateway');
    const retry = await client().call({ ...append('accepted'), requestKey });
    expect(retry).toMatchObject({ state: 'ok', result: { attempt: 1 } });
    expect(cluster.truth('accepted')).toEqual([{ identity: 'accepted', callId: retry.callId }]);
  });

  it('while a caller waits: the call goes on, and the retry joins it', async () => {
    const gateway = await cluster.ensure('gateway');
    const requestKey = uuidv7();
    const waiting = client().call({ ...append('waiting', 1_500), requestKey }, { timeoutMs: 3_000, waitMs: 2_500 });
    const outcome = waiting.catch((error) => error);
    await expect
      .poll(() => cluster.truth('waiting').length || cluster.ledger.work.has('truth', 2), { timeout: 10_000 })
      .toBeTruthy();
    gateway.kill('SIGKILL');
    await gateway.exited;
    expect(await outcome).toMatchObject({ type: 'unavailable' });
    await cluster.ensure('gateway');
    const retry = await client().call({ ...append('waiting', 1_500), requestKey });
    expect(retry.state).toBe('ok');
    expect(cluster.truth('waiting')).toHaveLength(1);
  });

  it('that is told to stop answers who waits with the handle of the call', async () => {
    const gateway = await cluster.ensure('gateway');
    const requestKey = uuidv7();
    const callId = callIdFor(ADA, requestKey, Date.now());
    const waiting = client().call({ ...append('drained', 2_000), requestKey }, { waitMs: 1_500, timeoutMs: 5_000 });
    await expect.poll(async () => (await cluster.claim('truth', callId))?.state, { timeout: 10_000 }).toBe('started');
    gateway.kill('SIGTERM');
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
    const handle = await waiting;
    expect(['queued', 'running']).toContain(handle.state);
    await cluster.ensure('gateway');
    expect((await cluster.waitForState(handle.callId, ['ok'])).state).toBe('ok');
    expect(cluster.truth('drained')).toHaveLength(1);
  });
});
