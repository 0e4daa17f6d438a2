import { PACES, silentLogger } from '@toolfabric/kernel';
import { pinKey, pinnedWorkSubject } from '@toolfabric/ledger';
import type { LedgerPorts, WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Rig } from './testing/rig.ts';
import { done, HeldTool } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;
let ports: WorkerPorts;
let router: LedgerPorts;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

const start = (pinSlots: number) => rig.start([new HeldTool().tool], { pinSlots, storage: 'own' });
const holderOf = async (slot: string) => (await router.pins('cli').get(pinKey('cli', slot)))?.value.holder;
const pinOf = async (incarnation: string) => (await rig.life(incarnation))?.pin;

describe('the lease of a pin slot', () => {
  it('protocol 12: each worker holds one, and its life sign says which; without one it works all the same', async () => {
    const workers = await Promise.all([start(2), start(2), start(2)]);
    const pins = await Promise.all(workers.map(({ incarnation }) => pinOf(incarnation)));
    expect(pins.toSorted()).toEqual(['p0', 'p1', undefined]);
    for (const [index, pin] of pins.entries()) {
      if (pin) expect(await holderOf(pin)).toBe(workers[index]?.incarnation);
    }
    expect(await rig.life(workers[0]?.incarnation ?? '')).toMatchObject({ storage: 'own', state: 'alive' });
  });

  it('many that start at once never hold the same one', async () => {
    const workers = await Promise.all(Array.from({ length: 8 }, () => start(8)));
    const pins = await Promise.all(workers.map(({ incarnation }) => pinOf(incarnation)));
    expect(new Set(pins).size).toBe(8);
  });

  it('RT-10: a slot that was never provisioned is not taken, and the start says how many there are', async () => {
    const told: unknown[] = [];
    const log = { ...silentLogger, error: (event: string, fields?: object) => void told.push({ event, ...fields }) };
    const workers = [];
    for (let n = 0; n < 9; n += 1) {
      workers.push(await rig.start([new HeldTool().tool], { pinSlots: 12, storage: 'own', log }));
    }
    expect(await pinOf(workers[7]?.incarnation ?? '')).toBe('p7');
    expect(await pinOf(workers[8]?.incarnation ?? '')).toBeUndefined();
    expect(await holderOf('p8')).toBeUndefined();
    expect(told).toEqual([{ event: 'pin.not_provisioned', kind: 'cli', configured: 12, provisioned: 8 }]);
  });

  it('is given up at the drain, and taken by the next', async () => {
    const first = await start(1);
    await first.stop();
    expect(await holderOf('p0')).toBe('');
    const second = await start(1);
    expect(await holderOf('p0')).toBe(second.incarnation);
  });

  it('of a dead holder, or of one without a sign, is taken over; of a living one never', async () => {
    const lease = await router.pins('cli').get(pinKey('cli', 'p0'));
    const nobody = { holder: 'nobody', since: 1 };
    await router.pins('cli').update(pinKey('cli', 'p0'), nobody, lease?.revision ?? 0);
    const first = await start(1);
    expect(await pinOf(first.incarnation)).toBe('p0');
    const second = await start(1);
    expect(await pinOf(second.incarnation)).toBeUndefined();
    await rig.declareDead(first.incarnation);
    const third = await start(1);
    expect(await pinOf(third.incarnation)).toBe('p0');
    expect(await first.failed).toBe('declared dead');
    // The dead one cannot take it back by its own end.
    await first.stop();
    expect(await holderOf('p0')).toBe(third.incarnation);
  });

  it('brings the work that is pinned to it, in the place of a free one', async () => {
    const held = new HeldTool();
    const worker = await rig.start([held.tool], { pinSlots: 4, storage: 'own', slots: 1 });
    const pin = (await pinOf(worker.incarnation)) ?? '';
    const sent = await rig.send({ subject: pinnedWorkSubject('cli', pin, 'acme') });
    const other = await rig.send({ subject: pinnedWorkSubject('cli', 'p3', 'acme') });
    await waitFor(() => held.runs.length === 1);
    held.runs[0]?.finish(done());
    await waitFor(() => rig.result(sent.callId));
    expect(await rig.has(other.sequence)).toBe(true);
    expect(await rig.result(other.callId)).toBeUndefined();
  });

  it('a message that was signed for another slot is refused', async () => {
    const worker = await start(4);
    const pin = (await pinOf(worker.incarnation)) ?? '';
    const body = rig.body({ subject: pinnedWorkSubject('cli', 'p3', 'acme') });
    const { sequence } = await rig.sendRaw(JSON.stringify(rig.sign(body)), pinnedWorkSubject('cli', pin, 'acme'));
    await waitFor(async () => !(await rig.has(sequence)));
    expect(await rig.result(body.callId)).toBeUndefined();
  });
});
