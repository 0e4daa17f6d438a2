import type { FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth'], { sizes: { workMessagesPerSubject: 24 } });
  client = cluster.client();
  taskId = (await client.createTask({ title: 'outage' })).taskId;
});
afterAll(() => cluster.stop());

const append = (identity: string) => ({ taskId, tool: 'truth.append', args: { identity, delay_ms: 20 } });

describe('RE-3: the bus server', () => {
  it('killed and restarted under load: every accepted call ends once', async () => {
    const identities = Array.from({ length: 60 }, (_, i) => `outage-${i}`);
    let next = 0;
    const caller = async () => {
      for (let identity = identities[next++]; identity !== undefined; identity = identities[next++])
        await client.call(append(identity), { waitMs: 60_000, timeoutMs: 90_000 });
    };
    const callers = Array.from({ length: 6 }, caller);
    await expect.poll(() => cluster.truth().length, { timeout: 20_000 }).toBeGreaterThan(5);
    await cluster.nats.kill();
    await cluster.nats.restart();
    await expect.poll(() => cluster.truth().length, { timeout: 30_000 }).toBeGreaterThan(20);
    await cluster.nats.kill();
    await cluster.nats.restart();
    await Promise.all(callers);
    for (const identity of identities) expect(cluster.truth(identity)).toHaveLength(1);
  });

  it('RT-6: a full subject leaves a call queued; it runs when there is room, or expires with no effect', async () => {
    await cluster.killAll('truth');
    const started = await Promise.all(
      Array.from({ length: 30 }, (_, i) => client.startCall({ ...append(`full-${i}`), deadlineMs: 40_000 })),
    );
    expect(started.every((call) => call.state === 'queued')).toBe(true);
    const short = await client.startCall({ ...append('full-short'), deadlineMs: 1_000 });
    expect((await cluster.waitForState(short.callId, ['expired'])).result).toMatchObject({ sideEffect: 'none' });
    await cluster.ensure('truth');
    for (const { callId } of started) await cluster.waitForState(callId, ['ok']);
    for (let i = 0; i < 30; i += 1) expect(cluster.truth(`full-${i}`)).toHaveLength(1);
    expect(cluster.truth('full-short')).toHaveLength(0);
  });
});
