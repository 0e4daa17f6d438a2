import type { LedgerBus } from '@toolfabric/bus-nats';
import type { Claim, TaskRecord } from '@toolfabric/contract';
import { callIdFor, systemClock, uuidv7 } from '@toolfabric/kernel';
import {
  type ClaimMove,
  callKey,
  changeRecord,
  claimKey,
  lifeKey,
  moveClaim,
  openKey,
  taskKey,
} from '@toolfabric/ledger';
import type { LedgerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveVerb } from './serve-verbs.ts';
import { TaskCache } from './task-cache.ts';
import { delegateStore } from './testing/delegate-store.ts';
import { Front } from './testing/front.ts';
import { openServices } from './testing/open-services.ts';
import { ADA } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';

const WRITE = 'notes.add';
const CONTRACTS = [
  sampleContract(),
  sampleContract({ name: WRITE, governance: { risk: 'workspace_write', idempotent: false, claimless: false } }),
];
let nats: TestNats;
let bus: LedgerBus;
/** Message ids of the work that was published, by whichever router. */
const published: string[] = [];

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  const { lives } = await nats.connectAsWorker('cli');
  const isolation = ['process', 'namespace'];
  await lives.create(lifeKey('cli', 'cli-1'), {
    incarnation: 'cli-1',
    state: 'alive',
    beat: 1,
    slots: 1,
    handlers: CONTRACTS.map(({ name }) => name),
    isolation,
  });
});
afterAll(() => nats.stop());

/** A router with a memory of its own, whose reads of tasks can be held up. */
const openRouter = async () => {
  const gate = { open: Promise.resolve() };
  const ports: LedgerPorts = {
    ...bus,
    work: {
      has: (kind, sequence) => bus.work.has(kind, sequence),
      remove: (kind, sequence, subject) => bus.work.remove(kind, sequence, subject),
      publish: (kind, subject, id, body) => {
        published.push(id);
        return bus.work.publish(kind, subject, id, body);
      },
    },
  };
  const tasks = delegateStore(bus.tasks, {
    get: async (key) => {
      const found = await bus.tasks.get(key);
      await gate.open;
      return found;
    },
  });
  const base = openServices({ bus, signing: nats.signing });
  const services = { ...base, ctx: { ...base.ctx, ports }, tasks: new TaskCache(tasks, 10) };
  await services.registry.seed(CONTRACTS);
  await services.registry.refresh();
  return { gate, front: new Front((verb, body) => serveVerb(services, verb, body)) };
};

const endTask = async (taskId: string) => {
  const found = await bus.tasks.get(taskKey('acme', taskId));
  const ended = { ...(found?.value as TaskRecord), state: 'ended', outcome: 'succeeded' } as const;
  await bus.tasks.update(taskKey('acme', taskId), ended, found?.revision ?? 0);
};
const timesPublished = (callId: string) => published.filter((id) => id.startsWith(callId)).length;
const move = (callId: string, step: ClaimMove) =>
  changeRecord<Claim>(bus.claims('cli'), claimKey('cli', 'acme', callId), (claim) => moveClaim(claim, step), {
    clock: systemClock,
  });
const recordOf = async (callId: string) => (await bus.calls.get(callKey('acme', callId)))?.value;

describe('a call whose task ended while it was being accepted', () => {
  it.each(['notes.find', WRITE])('RE-4: is taken away again, and nothing of it is published: %s', async (tool) => {
    const { front } = await openRouter();
    const taskId = await front.task();
    await front.call({ taskId, tool });
    await endTask(taskId);
    const { callId, state, result } = await front.call({ taskId, tool });
    expect({ state, sideEffect: result?.sideEffect }).toEqual({ state: 'cancelled', sideEffect: 'none' });
    expect(timesPublished(callId)).toBe(0);
    expect(await bus.open.get(openKey('acme', callId))).toBeUndefined();
    const next = await front.call({ taskId, tool });
    expect(next).toMatchObject({ state: 'refused', result: { status: 'denied', error: { type: 'task_ended' } } });
  });

  it('RE-4: and that another router carried on is not ended as if nothing had happened (L3)', async () => {
    const [slow, quick] = [await openRouter(), await openRouter()];
    const taskId = await slow.front.task();
    await slow.front.call({ taskId });
    await quick.front.call({ taskId });
    await endTask(taskId);
    const held = Promise.withResolvers<void>();
    slow.gate.open = held.promise;
    const requestKey = uuidv7();
    const callId = callIdFor(ADA, requestKey, Date.now());
    const first = slow.front.call({ taskId, requestKey, tool: WRITE });
    await waitFor(() => recordOf(callId));
    await quick.front.call({ taskId, requestKey, tool: WRITE });
    expect(timesPublished(callId)).toBe(1);
    await move(callId, { type: 'take', epoch: 1, sequence: 1, incarnation: 'cli-1', nonce: 'n' });
    await move(callId, { type: 'start', nonce: 'n', intent: {} });
    held.resolve();
    await first;
    const record = await recordOf(callId);
    expect(record?.state).toBe('queued');
    expect(record).not.toHaveProperty('result');
    const claim = await bus.claims('cli').get(claimKey('cli', 'acme', callId));
    expect(claim?.value).toMatchObject({ state: 'started', cancelRequested: true });
  });
});

describe('a request that comes again', () => {
  it('RE-3: by two routers at once is one call, and one message', async () => {
    const [one, two] = [await openRouter(), await openRouter()];
    const taskId = await one.front.task();
    const requestKey = uuidv7();
    const views = await Promise.all([one, two].map(({ front }) => front.call({ taskId, requestKey, tool: WRITE })));
    expect(new Set(views.map(({ callId }) => callId)).size).toBe(1);
    expect(new Set(published.filter((id) => id.startsWith(views[0]?.callId ?? ''))).size).toBe(1);
  });
});
