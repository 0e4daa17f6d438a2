import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';
import { ask, pageStatus, statusAt } from './trace-bench.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.startWith(['truth', 'router', 'gateway']);
}, 60_000);
afterAll(() => cluster.stop());

const answerOf = async (): Promise<string> => {
  const gateway = await cluster.nats.connectAsGateway('test-gateway');
  try {
    return await ask(gateway, 'listCalls', { actor: ADA }).then(
      () => 'answered',
      (error: Error) => error.message,
    );
  } finally {
    await gateway.close();
  }
};

describe('without a store for traces', () => {
  it('TR-1: calls work, and the writer says what is missing', async () => {
    const writer = cluster.spawn('trace-writer', '', { TOOLFABRIC_TRACE_ENGINE: 'engine-that-is-not-installed' });
    const { address } = await writer.ready;
    const status = await expect
      .poll(async () => (await statusAt(address)).store, { timeout: 20_000 })
      .toMatchObject({ state: 'absent' })
      .then(() => statusAt(address));
    expect(status.store.reason).toContain('chdb');
    expect(await pageStatus(address, '/healthz')).toBe(200);
    expect(await pageStatus(address, '/readyz')).toBe(503);
    expect(await answerOf()).toMatch(/^not_configured: .*chdb/);
    writer.kill('SIGTERM');
    expect(await writer.exited).toEqual({ code: 0, signal: null });
  });

  it('TR-1: a server that cannot be reached is asked again, and the writer can be stopped meanwhile', async () => {
    const writer = cluster.spawn('trace-writer', '', {
      TOOLFABRIC_TRACE_STORE: 'clickhouse',
      TOOLFABRIC_CLICKHOUSE_URL: 'http://127.0.0.1:1',
    });
    const { address } = await writer.ready;
    await expect
      .poll(async () => (await statusAt(address)).store.reason, { timeout: 20_000 })
      .toContain('does not answer');
    expect(await pageStatus(address, '/readyz')).toBe(503);
    expect(await answerOf()).toMatch(/^traces_unavailable/);
    writer.kill('SIGTERM');
    expect(await writer.exited).toEqual({ code: 0, signal: null });
  });

  it('TR-1: calls go on without any of it', async () => {
    const client = cluster.client();
    const task = await client.createTask({ title: 'without traces' });
    const { result } = await client.call({ taskId: task.taskId, tool: 'truth.noop', args: {} });
    expect(result?.status).toBe('ok');
  });
});
