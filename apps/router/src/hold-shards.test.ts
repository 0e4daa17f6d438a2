import type { LedgerBus } from '@toolfabric/bus-nats';
import { OPEN_SHARDS } from '@toolfabric/contract';
import { PACES, silentLogger } from '@toolfabric/kernel';
import { leaseKey } from '@toolfabric/ledger';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ShardHolder } from './hold-shards.ts';
import { ALL_SHARDS } from './sweep-open.ts';
import { HandClock } from './testing/hand-clock.ts';

const { leaseDeadAfterMs } = PACES.test;
let nats: TestNats;
let bus: LedgerBus;
let clock: HandClock;

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
});
afterAll(() => nats.stop());
beforeEach(async () => {
  clock = new HandClock();
  for (const shard of ALL_SHARDS) {
    const lease = await bus.leases.get(leaseKey(shard));
    if (lease) await bus.leases.remove(leaseKey(shard), lease.revision);
  }
});

const holder = (incarnation: string, ports: Pick<LedgerBus, 'leases'> = bus) =>
  new ShardHolder({ incarnation, ports, clock, pace: PACES.test, log: silentLogger });
const leaseOf = async (shard: number) => (await bus.leases.get(leaseKey(shard)))?.value;

describe('the shards of a router', () => {
  it('are all of them when nobody else is there', async () => {
    const a = holder('router-a');
    expect(a.held).toEqual([]);
    await a.renew();
    expect(a.held).toEqual(ALL_SHARDS);
    expect(ALL_SHARDS).toHaveLength(OPEN_SHARDS);
    expect(await leaseOf(0)).toEqual({ holder: 'router-a', beat: 1 });
  });

  it('stay with it while it renews, however long the other waits', async () => {
    const [a, b] = [holder('router-a'), holder('router-b')];
    await a.renew();
    for (let n = 0; n < 3; n += 1) {
      await b.renew();
      clock.pass(leaseDeadAfterMs);
      await a.renew();
    }
    await b.renew();
    expect(a.held).toEqual(ALL_SHARDS);
    expect(b.held).toEqual([]);
  });

  it('RE-3: are taken over when they stood still for as long on the clock of the other', async () => {
    const [a, b] = [holder('router-a'), holder('router-b')];
    await a.renew();
    clock.pass(100 * leaseDeadAfterMs);
    await b.renew();
    expect(b.held).toEqual([]);
    clock.pass(leaseDeadAfterMs - 1);
    await b.renew();
    expect(b.held).toEqual([]);
    clock.pass(1);
    await b.renew();
    expect(b.held).toEqual(ALL_SHARDS);
    expect(await leaseOf(3)).toEqual({ holder: 'router-b', beat: 2 });
  });

  it('RE-3: have two holders for a moment at most: who was paused finds out at its next renewal', async () => {
    const [a, b] = [holder('router-a'), holder('router-b')];
    await a.renew();
    await b.renew();
    clock.pass(leaseDeadAfterMs);
    await b.renew();
    expect([a.held, b.held]).toEqual([ALL_SHARDS, ALL_SHARDS]);
    await a.renew();
    expect([a.held, b.held]).toEqual([[], ALL_SHARDS]);
    expect(await leaseOf(0)).toMatchObject({ holder: 'router-b' });
  });

  it('of two that begin at once have one holder each', async () => {
    const [a, b] = [holder('router-a'), holder('router-b')];
    await Promise.all([a.renew(), b.renew()]);
    expect([...a.held, ...b.held].sort((x, y) => x - y)).toEqual(ALL_SHARDS);
  });

  it('OP-3: go to another at once when they were given up', async () => {
    const [a, b] = [holder('router-a'), holder('router-b')];
    await a.renew();
    await b.renew();
    await a.giveUp();
    expect(a.held).toEqual([]);
    await b.renew();
    expect(b.held).toEqual(ALL_SHARDS);
  });

  it('OP-3: that somebody took over meanwhile are not given up for them', async () => {
    const [a, b] = [holder('router-a'), holder('router-b')];
    await a.renew();
    await b.renew();
    clock.pass(leaseDeadAfterMs);
    await b.renew();
    await a.giveUp();
    expect(await leaseOf(0)).toMatchObject({ holder: 'router-b' });
    await b.renew();
    expect(b.held).toEqual(ALL_SHARDS);
  });

  it('that cannot be renewed are not held', async () => {
    let leases = bus.leases;
    const a = holder('router-a', {
      get leases() {
        return leases;
      },
    });
    await a.renew();
    const closed = await nats.connectAsRouter();
    await closed.close();
    leases = closed.leases;
    await a.renew();
    expect(a.held).toEqual([]);
    leases = bus.leases;
    await a.renew();
    expect(a.held).toEqual(ALL_SHARDS);
    leases = closed.leases;
    await expect(a.giveUp()).resolves.toBeUndefined();
    expect(a.held).toEqual([]);
  });
});
