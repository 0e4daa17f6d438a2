import type { FabricClient } from '@toolfabric/client';
import { lifeKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'drain' })).taskId;
});
afterAll(() => cluster.stop());

const append = (identity: string, delay_ms: number) => ({ taskId, tool: 'truth.append', args: { identity, delay_ms } });

describe('OP-3: SIGTERM', () => {
  it('a worker ends what it runs, takes nothing new, says that it is drained, and exits 0', async () => {
    const worker = await cluster.ensure('truth');
    const running = client.call(append('running', 1_500), { waitMs: 20_000 });
    await expect
      .poll(async () => (await cluster.ledger.lives('truth').keys('live.truth')).length, { timeout: 5_000 })
      .toBeGreaterThan(0);
    await expect.poll(async () => cluster.ledger.work.has('truth', 1), { timeout: 5_000 }).toBe(true);
    worker.kill('SIGTERM');
    const queued = await client.startCall(append('queued', 0));
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect(await running).toMatchObject({ state: 'ok', result: { attempt: 1 } });
    const lives = await cluster.ledger.lives('truth').keys('live.truth');
    const signs = await Promise.all(lives.map((key) => cluster.ledger.lives('truth').get(key)));
    expect(signs.map((sign) => sign?.value.state)).toContain('drained');
    expect(lives).toContain(lifeKey('truth', signs[0]?.value.incarnation ?? ''));
    await cluster.ensure('truth');
    expect(await cluster.waitForState(queued.callId, ['ok'])).toMatchObject({ epoch: 1 });
    expect(cluster.truth('running')).toHaveLength(1);
    expect(cluster.truth('queued')).toHaveLength(1);
  });

  it('a router answers what it has begun, gives its shards away, and exits 0; nothing is lost', async () => {
    await cluster.ensure('truth');
    const router = await cluster.ensure('router');
    const calls = Array.from({ length: 20 }, (_, i) => client.call(append(`router-${i}`, 50), { waitMs: 30_000 }));
    router.kill('SIGTERM');
    expect(await router.exited).toEqual({ code: 0, signal: null });
    await cluster.ensure('router');
    const ends = await Promise.all(calls);
    expect(ends.map((end) => end.state)).toEqual(ends.map(() => 'ok'));
    for (let i = 0; i < 20; i += 1) expect(cluster.truth(`router-${i}`)).toHaveLength(1);
  });
});
