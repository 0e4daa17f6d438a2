import { PACES } from '@toolfabric/kernel';
import type { Delivery } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectWorker, type WorkerBus } from './connect-worker.ts';
import { SIZES } from './sizes.ts';
import { pinnedWorkSubject, pinSlotName, workSubject } from './subjects.ts';
import { TemporaryServer } from './testing/index.ts';
import { waitFor } from './testing/wait-for.ts';
import { topologyFor } from './topology.ts';

let server: TemporaryServer;
let router: LedgerBus;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'] });
  router = await connectLedger(server.configFor('router'));
  opened.push(router);
});
afterAll(async () => {
  await Promise.all(opened.map((bus) => bus.close()));
  await server.stop();
});

const worker = async (kind = 'cli'): Promise<WorkerBus> => {
  const bus = await connectWorker(server.configFor(`worker-${kind}`), kind);
  opened.push(bus);
  return bus;
};

const send = (subject: string, id: string) => router.work.publish('cli', subject, id, Buffer.from(id));

/** Takes work until it is stopped; what came, in its order. */
const taking = async (pin: string | undefined, slots = 1) => {
  const { source } = await worker();
  const seen: string[] = [];
  const stop = new AbortController();
  const take = async (delivery: Delivery) => {
    seen.push(Buffer.from(delivery.data).toString());
    await delivery.ackSync();
  };
  const done = source.run(slots, take, stop.signal, pin);
  return {
    seen,
    stop: async () => {
      stop.abort();
      await done;
    },
  };
};

describe('pin slots', () => {
  it('RT-10: pinned work reaches the holder of the slot and nobody else, and waits for it', async () => {
    const [holder, other, unpinned] = [await taking('p1'), await taking('p2'), await taking(undefined)];
    await send(pinnedWorkSubject('cli', 'p1', 'acme'), 'to-p1');
    await send(pinnedWorkSubject('cli', 'p3', 'acme'), 'to-p3');
    await waitFor(() => holder.seen.length === 1, { what: 'the pinned message' });
    expect(holder.seen).toEqual(['to-p1']);
    expect([...other.seen, ...unpinned.seen]).toEqual([]);
    await Promise.all([holder, other, unpinned].map((one) => one.stop()));
    const later = await taking('p3');
    await waitFor(() => later.seen.includes('to-p3'), { what: 'the message that waited' });
    await later.stop();
  });

  it('a pinned worker moves all three queues, however full the others are', async () => {
    const queues = [
      workSubject('cli', 'hi', 'acme'),
      workSubject('cli', 'lo', 'acme'),
      pinnedWorkSubject('cli', 'p4', 'acme'),
    ];
    for (const subject of queues) for (let n = 0; n < 20; n += 1) await send(subject, `${subject}-${n}`);
    const one = await taking('p4');
    await waitFor(() => one.seen.length === 60, { what: 'all of them' });
    await one.stop();
    const firstOf = (part: string) => one.seen.findIndex((id) => id.startsWith(part));
    expect(firstOf('work.cli.pin')).toBeLessThan(10);
    expect(firstOf('work.cli.hi')).toBeLessThan(10);
    expect(firstOf('work.cli.lo')).toBeLessThan(10);
  });

  it('a message is taken away by its sequence, once, and only from the subject that was meant', async () => {
    const subject = pinnedWorkSubject('cli', 'p5', 'acme');
    const { sequence } = await send(subject, 'to-be-removed');
    const { sequence: kept } = await send(workSubject('cli', 'hi', 'other'), 'kept');
    expect(await router.work.remove('cli', kept, subject)).toBe(false);
    expect(await router.work.has('cli', kept)).toBe(true);
    expect(await router.work.remove('cli', sequence, subject)).toBe(true);
    expect(await router.work.remove('cli', sequence, subject)).toBe(false);
    expect(await router.work.has('cli', sequence)).toBe(false);
  });

  it('a worker leases a slot of its own kind by compare-and-set, and reaches no other kind’s', async () => {
    const [first, second, web] = [await worker(), await worker(), await worker('web')];
    const revision = await first.pins.create('live.cli.pin-p6', { holder: 'w1', since: 1 });
    await expect(second.pins.create('live.cli.pin-p6', { holder: 'w2', since: 1 })).rejects.toThrow();
    await second.pins.update('live.cli.pin-p6', { holder: 'w2', since: 2 }, revision);
    await expect(first.pins.update('live.cli.pin-p6', { holder: 'w1', since: 3 }, revision)).rejects.toThrow();
    expect((await router.pins('cli').get('live.cli.pin-p6'))?.value.holder).toBe('w2');
    await expect(web.pins.get('live.cli.pin-p6')).resolves.toBeUndefined();
    await expect(web.pins.create('live.cli.pin-p7', { holder: 'w3', since: 1 })).rejects.toThrow();
  });

  it.each(['laptop', 'cluster'] as const)('%s: every slot has exactly one consumer', (name) => {
    const { streams } = topologyFor(['cli'], PACES.test, SIZES[name]);
    const consumers = streams.find((stream) => stream.name === 'WORK_CLI')?.consumers ?? [];
    const pins = consumers.filter(({ durable_name }) => durable_name.startsWith('pin-'));
    const wanted = Array.from({ length: SIZES[name].pinSlots }, (_, index) => `work.cli.pin.${pinSlotName(index)}.*`);
    expect(pins.map(({ filter_subject }) => filter_subject)).toEqual(wanted);
  });
});
