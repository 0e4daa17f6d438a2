import type { FabricClient } from '@toolfabric/client';
import type { ResultMessage } from '@toolfabric/contract';
import { slotOf } from '@toolfabric/kernel';
import { claimKey, probeCallId } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['truth', 'cli', 'router', 'gateway']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'other kinds' })).taskId;
});
afterAll(() => cluster.stop());

const forged = (callId: string): ResultMessage => ({
  callId,
  tenant: ADA.tenant,
  epoch: 1,
  by: 'somebody',
  outcome: { status: 'ok', summary: 'forged', sideEffect: 'confirmed', trust: 'trusted' },
});

const logged = (event: string) =>
  expect
    .poll(() => [...cluster.services].some((service) => service.log.some((line) => line.includes(event))), {
      timeout: 10_000,
    })
    .toBe(true);

describe('OP-6: a worker with the key of one kind', () => {
  it('L3: settles no call of another kind, neither by a result nor by the answer of a probe', async () => {
    const armed = await cluster.arm('truth', 'worker.started:kill');
    const { callId } = await client.startCall({ taskId, tool: 'truth.append', args: { identity: 'forged' } });
    await armed.exited;
    const other = await cluster.nats.connectAsWorker('cli', 'attacker');
    await other.results.createOnce('cli', forged(callId));
    await logged('result.of_another_kind');
    await cluster.waitForState(callId, ['unknown']);
    await expect
      .poll(async () => (await cluster.call(callId))?.probe?.asked ?? 0, { timeout: 15_000 })
      .toBeGreaterThan(0);
    const asked = (await cluster.call(callId))?.probe?.asked ?? 1;
    const report = JSON.parse(JSON.stringify({ answer: 'found', receipt: forged(callId).outcome }));
    for (const n of [asked, asked + 1]) {
      const message = forged(probeCallId(callId, n));
      await other.results.createOnce('cli', {
        ...message,
        outcome: { ...message.outcome, sideEffect: 'none', data: report },
      });
    }
    await cluster.ensure('truth');
    await expect.poll(async () => (await cluster.call(callId))?.left, { timeout: 20_000 }).toBe(true);
    expect(await client.getCall(callId)).toMatchObject({ state: 'unknown' });
    expect(cluster.truth('forged')).toHaveLength(0);
  });

  it('L2: a claim that nobody can read does not keep its call open beyond the deadline', async () => {
    await cluster.killAll('truth');
    const started = await client.startCall({
      taskId,
      tool: 'truth.append',
      args: { identity: 'unreadable' },
      deadlineMs: 2_000,
    });
    const { callId } = started;
    const raw = await cluster.nats.connectRaw('worker-truth');
    const subject = `$KV.CLAIM_TRUTH_${slotOf(callId)}.${claimKey('truth', ADA.tenant, callId)}`;
    expect(await raw.publish(subject, 'not json')).not.toBe('forbidden');
    const end = await cluster.waitForState(callId, ['unknown']);
    expect(end.result).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
    await expect.poll(() => cluster.ledger.open.keys('open'), { timeout: 15_000 }).toEqual([]);
    await cluster.ensure('truth');
  });

  it('RE-4: reads that were cancelled while they waited are not read any more', async () => {
    await cluster.killAll('truth');
    const waiting = await Promise.all(
      Array.from({ length: 12 }, () =>
        client.startCall({ taskId, tool: 'truth.slow_read', args: { delay_ms: 2_000 } }),
      ),
    );
    for (const { callId } of waiting) expect((await client.cancelCall(callId)).state).toBe('cancelled');
    await new Promise((resolve) => setTimeout(resolve, 700));
    await cluster.ensure('truth');
    expect((await client.call({ taskId, tool: 'truth.noop', args: {} })).state).toBe('ok');
    const ids = new Set(waiting.map(({ callId }) => callId));
    expect(cluster.truth().filter((line) => ids.has(line.callId))).toEqual([]);
  });
});
