import { afterEach, describe, expect, it } from 'vitest';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectWorker, type WorkerBus } from './connect-worker.ts';
import { workSubject } from './subjects.ts';
import { TemporaryServer } from './testing/index.ts';
import { until } from './testing/until.ts';

let server: TemporaryServer;
const opened: { close(): Promise<void> }[] = [];

const worker = async (): Promise<WorkerBus> => {
  const bus = await connectWorker(server.configFor('worker-cli'), 'cli');
  opened.push(bus);
  return bus;
};
const router = async (): Promise<LedgerBus> => {
  const bus = await connectLedger(server.configFor('router'));
  opened.push(bus);
  return bus;
};

afterEach(async () => {
  await Promise.all(opened.splice(0).map((bus) => bus.close()));
  await server.stop();
});

const publish = (bus: LedgerBus, id: string, priority: 'hi' | 'lo' = 'hi') =>
  bus.work.publish('cli', workSubject('cli', priority, 'acme'), id, Buffer.from(id));

describe('work source', () => {
  it('RE-4: four workers of one place run sixteen jobs exactly once, without a surplus redelivery', async () => {
    server = await TemporaryServer.start({ kinds: ['cli'] });
    const bus = await router();
    const stop = new AbortController();
    const runs: string[] = [];
    const counts: number[] = [];
    const busy = new Map<number, number>();
    let most = 0;
    const workers = [0, 1, 2, 3].map(async (index) => {
      const own = await worker();
      await own.source.run(
        1,
        async (delivery) => {
          busy.set(index, (busy.get(index) ?? 0) + 1);
          most = Math.max(most, busy.get(index) ?? 0);
          runs.push(Buffer.from(delivery.data).toString());
          counts.push(delivery.deliveryCount);
          await new Promise((resolve) => setTimeout(resolve, 20));
          await delivery.ackSync();
          busy.set(index, (busy.get(index) ?? 0) - 1);
        },
        stop.signal,
      );
    });
    await Promise.all(Array.from({ length: 16 }, (_, job) => publish(bus, `job-${job}`)));
    await until(() => runs.length >= 16);
    stop.abort();
    await Promise.all(workers);
    expect([...runs].sort()).toEqual(Array.from({ length: 16 }, (_, job) => `job-${job}`).sort());
    expect(counts).toEqual(Array(16).fill(1));
    expect(most).toBe(1);
  });
});
