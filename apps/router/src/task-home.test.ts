import type { LedgerBus } from '@toolfabric/bus-nats';
import type { CallRecord, FabricEvent, LifeSign, TaskRecord } from '@toolfabric/contract';
import { randomId, shardOf, silentLogger, systemClock } from '@toolfabric/kernel';
import { lifeKey, pinKey, pinnedWorkSubject, taskKey, workMessageId, workSubject } from '@toolfabric/ledger';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCall } from './change-call.ts';
import type { RouterContext } from './router-context.ts';
import { startCall } from './start-call.ts';
import { sweepShard } from './sweep-open.ts';
import { isPinLost, TaskHomes } from './task-home.ts';
import { openServices } from './testing/open-services.ts';
import { sampleCall } from './testing/sample-call.ts';

let nats: TestNats;
let bus: LedgerBus;
let ctx: RouterContext;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  ctx = openServices({ bus, signing: nats.signing }).ctx;
});
afterAll(() => nats.stop());

let count = 0;
const life = (changes: Partial<LifeSign> = {}): LifeSign => {
  count += 1;
  const base = { incarnation: `cli-${count}`, state: 'alive', beat: 1, slots: 1, handlers: [], isolation: [] } as const;
  return { ...base, handlers: [], isolation: [], storage: 'own', pin: `p${count}`, ...changes };
};
const store = async (sign: LifeSign) => {
  await bus.lives('cli').create(lifeKey('cli', sign.incarnation), sign);
  return sign;
};
const lease = (slot: string, holder: string) => bus.pins('cli').create(pinKey('cli', slot), { holder, since: 1 });

const makeTask = async (changes: Partial<TaskRecord> = {}): Promise<TaskRecord> => {
  count += 1;
  const taskId = `t-${String(count).padStart(26, '0')}`;
  const task: TaskRecord = {
    taskId,
    actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
    title: 't',
    workspace: { id: taskId, source: { type: 'empty' } },
    state: 'open',
    createdAt: 1,
    ...changes,
  };
  await bus.tasks.create(taskKey('acme', taskId), task);
  return task;
};
const callOf = ({ taskId, workspace }: TaskRecord): CallRecord => ({
  ...sampleCall(),
  taskId,
  ...(workspace && { workspace }),
});
const homeOf = async ({ taskId }: TaskRecord) => (await bus.tasks.get(taskKey('acme', taskId)))?.value.home;

describe('RT-10: the home of a task', () => {
  const homes = (living: readonly LifeSign[] = []) =>
    new TaskHomes({
      ports: bus,
      clock: systemClock,
      log: silentLogger,
      lifeOf: (_kind, incarnation) => living.find((sign) => sign.incarnation === incarnation),
    });

  it('is the worker on storage of its own that ran the last call, also one that has just come', async () => {
    const task = await makeTask();
    const [first, second] = [await store(life()), await store(life())];
    await homes([first]).follow(callOf(task), first.incarnation);
    expect(await homeOf(task)).toEqual({ kind: 'cli', slot: first.pin, incarnation: first.incarnation });
    await homes([]).follow(callOf(task), second.incarnation);
    expect(await homeOf(task)).toEqual({ kind: 'cli', slot: second.pin, incarnation: second.incarnation });
  });

  it('tells the move from one worker to another, once, and no first home', async () => {
    const events: FabricEvent[] = [];
    const emit = (event: FabricEvent) => void events.push(event);
    const ports = { tasks: bus.tasks, lives: bus.lives.bind(bus), events: { emit, store: async () => {} } };
    const watched = () => new TaskHomes({ ports, clock: systemClock, log: silentLogger, lifeOf: () => undefined });
    const task = await makeTask();
    const [first, second] = [await store(life()), await store(life())];
    await watched().follow(callOf(task), first.incarnation);
    expect(events).toEqual([]);
    const call = callOf(task);
    for (let router = 0; router < 3; router += 1) await watched().follow(call, second.incarnation);
    expect(events).toMatchObject([
      {
        id: `${call.callId}:workspace-moved.1`,
        ...{ type: 'workspace.moved', callId: call.callId, taskId: task.taskId },
        attributes: { workspace: task.taskId, from: first.incarnation, to: second.incarnation, slot: second.pin },
      },
    ]);
  });

  it.each<[string, Partial<LifeSign>]>([
    ['on shared storage', { storage: 'shared' }],
    ['without a slot', { pin: undefined as never }],
    ['that is dead', { state: 'dead' }],
  ])('is never a worker %s', async (_what, changes) => {
    const task = await makeTask();
    const { pin, ...rest } = life(changes);
    const sign = await store(pin === undefined ? rest : { ...rest, pin });
    await homes([sign]).follow(callOf(task), sign.incarnation);
    await homes([]).follow(callOf(task), sign.incarnation);
    expect(await homeOf(task)).toBeUndefined();
  });

  it('does not change for a task that ended, nor for a call without a workspace', async () => {
    const sign = await store(life());
    const ended = await makeTask({ state: 'ended', outcome: 'succeeded', endedAt: 2 });
    await homes([sign]).follow(callOf(ended), sign.incarnation);
    expect(await homeOf(ended)).toBeUndefined();
    const { workspace, ...without } = callOf(await makeTask());
    await homes([sign]).follow(without, sign.incarnation);
  });

  it('takes new calls of its kind while it lives in its slot', async () => {
    const sign = life();
    const home = { kind: 'cli', slot: sign.pin ?? '', incarnation: sign.incarnation };
    const task = await makeTask({ home });
    expect(homes([sign]).pinOf(task, 'cli')).toBe(sign.pin);
    expect(homes([sign]).pinOf(task, 'cli-trusted')).toBeUndefined();
    expect(homes([]).pinOf(task, 'cli')).toBeUndefined();
    expect(homes([{ ...sign, pin: 'p99' }]).pinOf(task, 'cli')).toBeUndefined();
  });
});

describe('a message in a pin slot', () => {
  it('is lost when nobody living holds the slot and says so', async () => {
    const call = (pin: string): CallRecord => ({ ...sampleCall(), pin, state: 'queued' });
    expect(await isPinLost(ctx, call('p100'))).toBe(true);
    await lease('p101', '');
    expect(await isPinLost(ctx, call('p101'))).toBe(true);
    const dead = await store(life({ state: 'dead', pin: 'p102' }));
    await lease('p102', dead.incarnation);
    expect(await isPinLost(ctx, call('p102'))).toBe(true);
    const elsewhere = await store(life({ pin: 'p999' }));
    await lease('p103', elsewhere.incarnation);
    expect(await isPinLost(ctx, call('p103'))).toBe(true);
    const alive = await store(life({ pin: 'p104' }));
    await lease('p104', alive.incarnation);
    expect(await isPinLost(ctx, call('p104'))).toBe(false);
    expect(await isPinLost(ctx, sampleCall())).toBe(false);
  });

  /** What a sweep finds once the grace is over. */
  const sweepLater = async (call: CallRecord) => {
    const later = { ...systemClock, now: () => systemClock.now() + 10_000 };
    for (let round = 0; round < 3; round += 1) await sweepShard({ ...ctx, clock: later }, shardOf(call.callId));
  };

  it.each(['none', 'required'] as const)(
    'claim %s: two sweeps at once take it back, and send the same epoch once',
    async (claim) => {
      const call: CallRecord = {
        ...sampleCall(),
        callId: `2969-${randomId()}`,
        claim,
        state: 'queued',
        pin: 'p200',
        createdAt: Date.now(),
        deadline: Date.now() + 600_000,
      };
      await startCall(ctx, call);
      const id = workMessageId(call.callId, 1, 'p200');
      const pinned = pinnedWorkSubject('cli', 'p200', 'acme');
      const { sequence, duplicate } = await bus.work.publish('cli', pinned, id, Buffer.from('again'));
      expect(duplicate).toBe(true);
      await Promise.all([sweepLater(call), sweepLater(call)]);
      expect(await bus.work.has('cli', sequence)).toBe(false);
      const stored = (await readCall(ctx, 'acme', call.callId))?.value;
      expect(stored).toMatchObject({ state: 'queued', epoch: 1 });
      expect(stored?.pin).toBeUndefined();
      const free = workSubject('cli', call.priority, 'acme');
      const again = await bus.work.publish('cli', free, workMessageId(call.callId, 1), Buffer.from('again'));
      expect(again.duplicate).toBe(true);
      expect(await bus.work.has('cli', again.sequence)).toBe(true);
    },
  );
});
