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

/** How many pulls wait at a consumer, as the server sees it. */
const waitingPulls = async (priority: Priority): Promise<number> => {
  const raw = await server.rawUser('provisioner');
  const { text } = await raw.request(`$JS.API.CONSUMER.INFO.WORK_CLI.${priority}`);
  await raw.close();
  return (JSON.parse(text) as { num_waiting: number }).num_waiting;
};

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

describe('work source under a long acknowledge wait', () => {
  beforeEach(() => start(PACES.production));
  afterEach(stopAll);

  it('a surplus message goes back at once to a worker that has a place', async () => {
    const one = await holding(1);
    await waitFor(async () => (await waitingPulls('hi')) === 1 && (await waitingPulls('lo')) === 1);
    await publish('first');
    await waitFor(() => one.held.has('first'));
    await publish('second', 'lo');
    await waitFor(async () => (await waitingPulls('lo')) === 0);
    const other = await holding(1);
    await waitFor(() => other.held.has('second'));
    expect(other.held.get('second')?.delivery.deliveryCount).toBe(2);
    expect(one.seen).toEqual(['first']);
    await one.finish('first');
    await other.finish('second');
    for (const { stop, done } of [one, other]) {
      stop.abort();
      await done;
    }
  });

  it('drains: asks no more, ends what runs, and leaves the rest to others', async () => {
    const one = await holding(2);
    await Promise.all(ids('job', 6).map((id) => publish(id)));
    await waitFor(() => one.held.size === 2);
    one.stop.abort();
    const other = await holding(6);
    await waitFor(() => other.held.size === 4);
    let ended = false;
    void one.done.then(() => {
      ended = true;
    });
    await pause(50);
    expect(ended).toBe(false);
    for (const id of [...one.held.keys()]) await one.finish(id);
    await one.done;
    for (const id of [...other.held.keys()]) await other.finish(id);
    other.stop.abort();
    await other.done;
    expect([...one.seen, ...other.seen].sort()).toEqual(ids('job', 6).sort());
  });
});
