import type { LedgerBus, WorkerBus } from '@toolfabric/bus-nats';
import type { LifeSign } from '@toolfabric/contract';
import { noTelemetry, PACES, silentLogger } from '@toolfabric/kernel';
import { lifeKey } from '@toolfabric/ledger';
import type { LedgerPorts } from '@toolfabric/ports';
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

describe('RT-10: storage that belongs to single workers', () => {
  const onlyOwn = (): Pick<LedgerPorts, 'lives'> => ({
    lives: (kind) => delegateStore(router.lives(kind), { keys: async () => [lifeKey('cli', incarnation)] }),
  });

  it('is expected while nothing is known, and not where all workers share theirs', async () => {
    const watch = watchOver(onlyOwn());
    expect(watch.storesApart).toBe(true);
    await beat('alive', 'shared');
    await watch.look();
    expect(watch.storesApart).toBe(false);
  });

  it('is never forgotten, however long its workers are gone', async () => {
    await beat('alive', 'own');
    const watch = watchOver(onlyOwn());
    await watch.look();
    await beat('drained', 'own');
    for (let hours = 0; hours < 3; hours += 1) {
      clock.pass(3_600_000);
      await watch.look();
    }
    expect(await stored()).toBeUndefined();
    expect([watch.recent, watch.storesApart]).toEqual([[], true]);
  });

  it('is known to a router that has just come, by what a drained worker left', async () => {
    await beat('drained', 'own');
    const watch = watchOver(onlyOwn());
    await watch.look();
    expect([watch.recent, watch.storesApart]).toEqual([[], true]);
  });
});

describe('the sign of a worker that is gone', () => {
  it('is kept for an hour of the observer, and then removed', async () => {
    await beat('drained');
    const watch = watchOver();
    await watch.look();
    clock.pass(3_599_999);
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'drained' });
    clock.pass(1);
    await watch.look();
    expect(await stored()).toBeUndefined();
    expect(await watch.isDead(incarnation)).toBe(true);
  });

  it('RE-3: is not removed when it lives again meanwhile', async () => {
    await beat('drained');
    let renewing = false;
    const watch = watchOver({
      lives: (kind) =>
        delegateStore(router.lives(kind), {
          remove: async (key, revision) => {
            if (renewing) await beat();
            renewing = false;
            return router.lives(kind).remove(key, revision);
          },
        }),
    });
    await watch.look();
    clock.pass(3_600_000);
    renewing = true;
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'alive', beat: 2 });
  });
});

describe('a sign that nobody can read', () => {
  it('hides itself, and not the others', async () => {
    await beat();
    const other = incarnation;
    incarnation = `${other}-strange`;
    const strange = { incarnation, state: 'resting', of: 'another version' };
    await worker.lives.create(lifeKey('cli', incarnation), strange as never);
    const watch = watchOver();
    await watch.look();
    incarnation = other;
    expect(isRecent(watch)).toBe(true);
    clock.pass(deadAfterMs);
    await watch.look();
    expect(await stored()).toMatchObject({ state: 'dead' });
  });
});

describe('the workers that lived a moment ago', () => {
  it('OP-1: are what calls are routed to, for a minute after they were seen last', async () => {
    await beat();
    const watch = watchOver();
    await watch.look();
    await beat('drained');
    clock.pass(59_999);
    await watch.look();
    expect(isRecent(watch)).toBe(true);
    clock.pass(2);
    await watch.look();
    expect(isRecent(watch)).toBe(false);
  });

  it('are the living ones alone as long as there is one', async () => {
    await beat();
    const watch = watchOver();
    await watch.look();
    const [old, former] = [incarnation, watch.recent.length];
    expect(former).toBeGreaterThan(0);
    await beat('drained');
    incarnation = `${old}-next`;
    await beat();
    await watch.look();
    expect(watch.recent.map((life) => life.incarnation)).toContain(incarnation);
    expect(watch.recent.map((life) => life.incarnation)).not.toContain(old);
  });

  it('are none before the first look', () => {
    expect(watchOver().recent).toEqual([]);
  });

  it('a drained one, and one without a sign, is dead to a claim that names it', async () => {
    await beat('drained');
    const watch = watchOver();
    expect(await watch.isDead(incarnation)).toBe(true);
    expect(await watch.isDead('cli-never')).toBe(true);
  });
});
