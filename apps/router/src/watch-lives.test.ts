import type { LedgerBus, WorkerBus } from '@toolfabric/bus-nats';
import type { LifeSign } from '@toolfabric/contract';
import { noTelemetry, PACES, silentLogger } from '@toolfabric/kernel';
import { lifeKey } from '@toolfabric/ledger';
import type { LedgerPorts, Store } from '@toolfabric/ports';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { delegateStore } from './testing/delegate-store.ts';
import { HandClock } from './testing/hand-clock.ts';
import { LifeWatch } from './watch-lives.ts';

const { deadAfterMs } = PACES.test;
let nats: TestNats;
let router: LedgerBus;
let closed: LedgerBus;
let worker: WorkerBus;
let clock: HandClock;
let count = 0;
let incarnation = '';

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  router = await nats.connectAsRouter();
  worker = await nats.connectAsWorker('cli');
  closed = await nats.connectAsRouter();
  await closed.close();
});
afterAll(() => nats.stop());
beforeEach(() => {
  clock = new HandClock();
  count += 1;
  incarnation = `cli-${count}`;
});

const watchOver = (ports: Pick<LedgerPorts, 'lives'> = router, ownClock = clock) =>
  new LifeWatch({ ports, clock: ownClock, pace: PACES.test, log: silentLogger, telemetry: noTelemetry }, 'cli');

/** What the worker itself does at each beat. */
const beat = async (state: LifeSign['state'] = 'alive', storage?: LifeSign['storage']): Promise<void> => {
  const key = lifeKey('cli', incarnation);
  const stored = await worker.lives.get(key);
  const sign: LifeSign = {
    incarnation,
    state,
    beat: (stored?.value.beat ?? 0) + 1,
    slots: 1,
    handlers: ['a'],
    isolation: ['process'],
    ...(storage === undefined ? {} : { storage }),
  };
  await (stored ? worker.lives.update(key, sign, stored.revision) : worker.lives.create(key, sign));
};
const stored = async () => (await router.lives('cli').get(lifeKey('cli', incarnation)))?.value;
const isRecent = (watch: LifeWatch) => watch.recent.some((life) => life.incarnation === incarnation);

describe('a life that stands still', () => {
  it('RE-3: is declared dead after the own monotonic time of the observer, and not before', async () => {
    await beat();
    const watch = watchOver();
    await watch.look();
    clock.pass(deadAfterMs - 1);
    await watch.look();
    expect(await watch.isDead(incarnation)).toBe(false);
    expect(await stored()).toMatchObject({ state: 'alive' });
    clock.pass(1);
    await watch.look();
    expect(await watch.isDead(incarnation)).toBe(true);
    expect(await stored()).toMatchObject({ state: 'dead', beat: 1 });
  });

  it('RE-3: is not dead because the clocks of the machines differ', async () => {
    await beat();
    const watch = watchOver();
    await watch.look();
    clock.wall += 86_400_000;
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive' });
  });

  it('RE-3: is not dead to who has only just begun to look, however long it stood still', async () => {
    await beat();
    clock.pass(100 * deadAfterMs);
    const watch = watchOver();
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive' });
    expect(isRecent(watch)).toBe(true);
  });

  it('is dead to every observer once one of them has said so', async () => {
    await beat();
    const [first, second] = [watchOver(), watchOver(router, new HandClock())];
    await Promise.all([first.look(), second.look()]);
    clock.pass(deadAfterMs);
    await first.look();
    expect(await second.isDead(incarnation)).toBe(true);
    expect(await stored()).toMatchObject({ state: 'dead' });
  });

  it('is declared dead by two observers at once without harm', async () => {
    await beat();
    const [first, second] = [watchOver(), watchOver()];
    await Promise.all([first.look(), second.look()]);
    clock.pass(deadAfterMs);
    await Promise.all([first.look(), second.look()]);
    expect([await first.isDead(incarnation), await second.isDead(incarnation)]).toEqual([true, true]);
    expect(await stored()).toMatchObject({ state: 'dead', beat: 1 });
  });
});

describe('a life that goes on', () => {
  it('RE-3: with one renewal between two looks is never dead', async () => {
    await beat();
    const watch = watchOver();
    for (let n = 0; n < 5; n += 1) {
      await watch.look();
      clock.pass(deadAfterMs);
      await beat();
    }
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive', beat: 6 });
    expect(isRecent(watch)).toBe(true);
  });

  it('RE-3: with a renewal between the look and the declaration wins', async () => {
    await beat();
    let renewing = false;
    const ports = {
      lives: (kind: string): Store<LifeSign> =>
        delegateStore(router.lives(kind), {
          get: async (key) => {
            const found = await router.lives(kind).get(key);
            if (renewing && key === lifeKey('cli', incarnation)) {
              renewing = false;
              await beat();
            }
            return found;
          },
        }),
    };
    const watch = watchOver(ports);
    await watch.look();
    clock.pass(deadAfterMs);
    renewing = true;
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive', beat: 2 });
    expect(await watch.isDead(incarnation)).toBe(false);
    await watch.look();
    clock.pass(deadAfterMs - 1);
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive', beat: 2 });
  });
});

describe('an observer that could not look', () => {
  it('RE-3: begins anew: what it did not see proves nothing', async () => {
    await beat();
    let bus = router;
    const watch = watchOver({ lives: (kind) => bus.lives(kind) });
    await watch.look();
    clock.pass(deadAfterMs - 1);
    bus = closed;
    await watch.look();
    bus = router;
    clock.pass(1);
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive' });
    clock.pass(deadAfterMs - 1);
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive' });
    clock.pass(1);
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'dead' });
  });

  it('does not throw, and cannot say whether somebody is dead', async () => {
    const watch = watchOver(closed);
    await expect(watch.look()).resolves.toBeUndefined();
    await expect(watch.isDead('cli-unseen')).rejects.toThrow();
  });
});
