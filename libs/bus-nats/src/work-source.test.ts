import { PACES, type Pace } from '@toolfabric/kernel';
import type { Delivery } from '@toolfabric/ports';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectWorker, type WorkerBus } from './connect-worker.ts';
import { type Priority, workSubject } from './subjects.ts';
import { TemporaryServer } from './testing/index.ts';
import { waitFor } from './testing/wait-for.ts';

let server: TemporaryServer;
let router: LedgerBus;
const opened: { close(): Promise<void> }[] = [];

const start = async (pace: Pace) => {
  server = await TemporaryServer.start({ kinds: ['cli'], pace });
  router = await connectLedger(server.configFor('router'));
  opened.push(router);
};
const stopAll = async () => {
  await Promise.all(opened.splice(0).map((bus) => bus.close()));
  await server.stop();
};

const worker = async (): Promise<WorkerBus> => {
  const bus = await connectWorker(server.configFor('worker-cli'), 'cli');
  opened.push(bus);
  return bus;
};

const publish = (id: string, priority: Priority = 'hi', tenant = 'acme') =>
  router.work.publish('cli', workSubject('cli', priority, tenant), id, Buffer.from(id));

const textOf = (delivery: Delivery): string => Buffer.from(delivery.data).toString();
const ids = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A worker that keeps jobs until they are let go. */
const holding = async (slots: number) => {
  const bus = await worker();
  const held = new Map<string, { delivery: Delivery; end: () => void }>();
  const seen: string[] = [];
  const stop = new AbortController();
  const done = bus.source.run(
    slots,
    (delivery) =>
      new Promise<void>((resolve) => {
        seen.push(textOf(delivery));
        held.set(textOf(delivery), { delivery, end: resolve });
      }),
    stop.signal,
  );
  const finish = async (id: string) => {
    const job = held.get(id);
    held.delete(id);
    await job?.delivery.ackSync();
    job?.end();
  };
  return { held, seen, stop, done, finish };
};

describe('work source', () => {
  beforeEach(() => start(PACES.test));
  afterEach(stopAll);

  it('RE-4: four workers of one place run sixteen jobs exactly once, without a surplus redelivery', async () => {
    const stop = new AbortController();
    const runs: string[] = [];
    const counts: number[] = [];
    let most = 0;
    const workers = [0, 1, 2, 3].map(async () => {
      const { source } = await worker();
      let busy = 0;
      const onDelivery = async (delivery: Delivery) => {
        busy += 1;
        most = Math.max(most, busy);
        runs.push(textOf(delivery));
        counts.push(delivery.deliveryCount);
        await pause(20);
        await delivery.ackSync();
        busy -= 1;
      };
      await source.run(1, onDelivery, stop.signal);
    });
    await Promise.all(ids('job', 16).map((id) => publish(id)));
    await waitFor(() => runs.length >= 16);
    stop.abort();
    await Promise.all(workers);
    expect([...runs].sort()).toEqual(ids('job', 16).sort());
    expect(counts).toEqual(Array(16).fill(1));
    expect(most).toBe(1);
  });

  it('never runs more than its places, and fills all of them', async () => {
    const four = await holding(4);
    await Promise.all(ids('job', 12).map((id) => publish(id)));
    await waitFor(() => four.held.size === 4);
    await pause(100);
    expect(four.seen).toHaveLength(4);
    for (let finished = 0; finished < 12; finished += 1) {
      await waitFor(() => four.held.size > 0);
      await four.finish([...four.held.keys()][0] ?? '');
      expect(four.held.size).toBeLessThanOrEqual(4);
    }
    expect([...four.seen].sort()).toEqual(ids('job', 12).sort());
    four.stop.abort();
    await four.done;
  });

  it('takes high before low, and still moves the low queue under a full high one', async () => {
    await Promise.all([...ids('hi', 20).map((id) => publish(id)), ...ids('lo', 5).map((id) => publish(id, 'lo'))]);
    const order: string[] = [];
    const stop = new AbortController();
    const { source } = await worker();
    const running = source.run(
      1,
      async (delivery) => {
        order.push(textOf(delivery));
        await delivery.ackSync();
      },
      stop.signal,
    );
    await waitFor(() => order.length === 25);
    stop.abort();
    await running;
    expect(order.slice(0, 4).every((id) => id.startsWith('hi'))).toBe(true);
    expect(order.slice(0, 10).filter((id) => id.startsWith('lo'))).toHaveLength(2);
  });

  it('gets a message that comes long after it began to wait', async () => {
    const one = await holding(1);
    await pause(5_600);
    await publish('late');
    await waitFor(() => one.held.has('late'), { timeoutMs: 2_000 });
    await one.finish('late');
    one.stop.abort();
    await one.done;
  });

  it('a message that nobody acknowledged comes again with its count; working() puts that off', async () => {
    const one = await holding(2);
    await publish('dropped');
    await waitFor(() => one.held.has('dropped'));
    const first = one.held.get('dropped');
    for (let beat = 0; beat < 6; beat += 1) {
      await pause(500);
      first?.delivery.working();
    }
    expect(one.seen).toEqual(['dropped']);
    await waitFor(() => one.seen.length === 2, { timeoutMs: 5_000 });
    const second = one.held.get('dropped');
    expect(second?.delivery.deliveryCount).toBe(2);
    expect(second?.delivery.sequence).toBe(first?.delivery.sequence);
    first?.end();
    await one.finish('dropped');
    one.stop.abort();
    await one.done;
  });

  it('nak brings the message again after its delay', async () => {
    const seen: number[] = [];
    const { source } = await worker();
    const stop = new AbortController();
    const running = source.run(
      1,
      async (delivery) => {
        seen.push(delivery.deliveryCount);
        if (seen.length < 3) delivery.nak(200);
        else await delivery.ackSync();
      },
      stop.signal,
    );
    await publish('again');
    await waitFor(() => seen.length === 3);
    stop.abort();
    await running;
    expect(seen).toEqual([1, 2, 3]);
  });

  it('an already aborted signal asks for nothing', async () => {
    await publish('untouched');
    const { source } = await worker();
    const seen: string[] = [];
    await source.run(4, async (delivery) => void seen.push(textOf(delivery)), AbortSignal.abort());
    expect(seen).toEqual([]);
  });

  it('goes on when a delivery throws: the message comes again', async () => {
    let tries = 0;
    const { source } = await worker();
    const stop = new AbortController();
    const running = source.run(
      1,
      async (delivery) => {
        tries += 1;
        if (tries === 1) throw new Error('broken');
        await delivery.ackSync();
      },
      stop.signal,
    );
    await publish('throws');
    await waitFor(() => tries === 2, { timeoutMs: 5_000 });
    stop.abort();
    await running;
  });

  it('RE-6: a server killed under load: pulls resume and every job runs', async () => {
    const done = new Set<string>();
    const stop = new AbortController();
    const workers = [0, 1].map(async () => {
      const { source } = await worker();
      const onDelivery = async (delivery: Delivery) => {
        await pause(5);
        await delivery.ackSync().then(
          () => done.add(textOf(delivery)),
          () => {},
        );
      };
      await source.run(4, onDelivery, stop.signal);
    });
    const publishing = (async () => {
      for (const id of ids('job', 200)) {
        await waitFor(async () =>
          publish(id).then(
            () => true,
            () => false,
          ),
        );
      }
    })();
    for (let round = 0; round < 2; round += 1) {
      await waitFor(() => done.size > 50 * (round + 1));
      await server.kill();
      await server.restart();
    }
    await publishing;
    await waitFor(() => done.size === 200, { timeoutMs: 15_000 });
    stop.abort();
    await Promise.all(workers);
  }, 40_000);

  it('stops cleanly while there is no server', async () => {
    const one = await holding(2);
    await server.kill();
    one.stop.abort();
    await one.done;
    await server.restart();
  });
});

/** Nothing comes again by itself here for half a minute, so that what comes was handed back. */
