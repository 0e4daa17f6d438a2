import type { LedgerBus } from '@toolfabric/bus-nats';
import type { Claim, FabricEvent, TaskRecord } from '@toolfabric/contract';
import { callIdFor, type FabricError, PACES, systemClock, uuidv7 } from '@toolfabric/kernel';
import { callKey, changeRecord, claimKey, lifeKey, moveClaim, taskKey } from '@toolfabric/ledger';
import { type LedgerPorts, StoreUnavailable } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RouterServices } from './router-services.ts';
import { serveVerb } from './serve-verbs.ts';
import { settleDelivery } from './settle-call.ts';
import { sweepShard } from './sweep-open.ts';
import { TaskCache } from './task-cache.ts';
import { delegateStore } from './testing/delegate-store.ts';
import { Front } from './testing/front.ts';
import { openServices } from './testing/open-services.ts';
import { ADA } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';

let nats: TestNats;
let bus: LedgerBus;
let services: RouterServices;
let front: Front;
let tasksBroken = false;
const published: string[] = [];
const events: FabricEvent[] = [];
let wall = 0;

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  const worker = await nats.connectAsWorker('cli');
  await worker.lives.create(lifeKey('cli', 'cli-1'), {
    incarnation: 'cli-1',
    state: 'alive',
    beat: 1,
    slots: 1,
    handlers: ['notes.find', 'notes.add'],
    isolation: ['process', 'namespace'],
  });
});
afterAll(() => nats.stop());
beforeEach(async () => {
  const base = openServices({ bus, signing: nats.signing });
  const tasks = delegateStore(bus.tasks, {
    get: (key) => (tasksBroken ? Promise.reject(new StoreUnavailable('no answer')) : bus.tasks.get(key)),
  });
  const ports: LedgerPorts = {
    ...bus,
    tasks,
    work: {
      has: (kind, sequence) => bus.work.has(kind, sequence),
      remove: (kind, sequence, subject) => bus.work.remove(kind, sequence, subject),
      publish: (kind, subject, id, body) => {
        published.push(id);
        return bus.work.publish(kind, subject, id, body);
      },
    },
    events: {
      emit: (event) => {
        events.push(event);
        bus.events.emit(event);
      },
      store: (event) => bus.events.store(event),
    },
  };
  wall = 0;
  const clock = { ...systemClock, now: () => Date.now() + wall };
  services = { ...base, ctx: { ...base.ctx, ports, clock }, tasks: new TaskCache(tasks, 10) };
  await services.registry.seed([
    sampleContract(),
    sampleContract({ name: 'notes.add', governance: { risk: 'workspace_write', idempotent: false, claimless: false } }),
  ]);
  await services.registry.refresh();
  front = new Front((verb, body) => serveVerb(services, verb, body));
});

const endElsewhere = async (taskId: string) => {
  const found = await bus.tasks.get(taskKey('acme', taskId));
  await bus.tasks.update(
    taskKey('acme', taskId),
    { ...(found?.value as TaskRecord), state: 'ended', outcome: 'succeeded', endedAt: Date.now() },
    found?.revision ?? 0,
  );
};
const ofCall = (callId: string) => published.filter((id) => id.startsWith(callId));

describe('a call of a task that ended elsewhere', () => {
  it('whose confirmation was lost is not published by the retry either', async () => {
    const taskId = await front.task();
    await front.call({ taskId });
    await endElsewhere(taskId);
    const requestKey = uuidv7();
    tasksBroken = true;
    await expect(front.call({ taskId, requestKey })).rejects.toMatchObject({ type: 'unavailable' });
    tasksBroken = false;
    const view = await front.call({ taskId, requestKey });
    expect(ofCall(view.callId)).toEqual([]);
  });
  it('whose confirmation was lost is not published by the sweep either', async () => {
    const taskId = await front.task();
    await front.call({ taskId });
    await endElsewhere(taskId);
    const requestKey = uuidv7();
    tasksBroken = true;
    await expect(front.call({ taskId, requestKey })).rejects.toMatchObject({ type: 'unavailable' });
    tasksBroken = false;
    wall = PACES.test.openGraceMs + 1;
    for (let shard = 0; shard < 16; shard += 1) await sweepShard(services.ctx, shard);
    expect(ofCall(callIdFor(ADA, requestKey, Date.now()))).toEqual([]);
  });
});

describe('the end of a task', () => {
  it('asked for twice at once with different outcomes: only one of them is told that it was its own', async () => {
    const taskId = await front.task();
    const both = await Promise.allSettled(
      (['succeeded', 'failed'] as const).map((outcome) => front.ask('endTask', { actor: ADA, taskId, outcome })),
    );
    const told = both.map((end, n) =>
      end.status === 'fulfilled' ? end.value.outcome === ['succeeded', 'failed'][n] : (end.reason as FabricError).type,
    );
    expect(told.sort()).toEqual(['task_ended', true].sort());
  });
  it('a task without a workspace is told to the trace', async () => {
    const taskId = await front.task();
    expect(events.map(({ id }) => id)).toContain(`${taskId}:task.created`);
  });
});

describe('requests that only a broken gateway sends', () => {
  it('deep arguments are too_deep', async () => {
    const args = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const answer = await serveVerb(
      services,
      'call',
      `{"actor":${JSON.stringify(ADA)},"taskId":"t","requestKey":"k","tool":"a.b","args":${args}}`,
    );
    expect(JSON.parse(answer)).toMatchObject({ error: { type: 'too_deep' } });
  });
  it('an id that is none is not_found', async () => {
    expect(await front.call({ taskId: 'not an id' })).toMatchObject({ result: { error: { type: 'not_found' } } });
  });
});

describe('a page that begins after a tool that is gone', () => {
  it('goes on after its place, and does not begin anew', async () => {
    await services.registry.seed(['pages.a', 'pages.b', 'pages.c'].map((name) => sampleContract({ name })));
    await services.registry.refresh();
    const { tools } = await front.ask('listTools', { actor: ADA, after: 'pages.a@0.9.0' });
    expect(tools.map(({ name }) => name)).toEqual(['pages.a', 'pages.b', 'pages.c']);
  });
});

describe('a late result of an older epoch', () => {
  it('is acknowledged once it is noted, although the call still runs', async () => {
    const taskId = await front.task();
    const view = await front.call({ taskId, tool: 'notes.add' });
    const { callId } = view;
    const claims = bus.claims('cli');
    const key = claimKey('cli', 'acme', callId);
    const move = (m: Parameters<typeof moveClaim>[1]) =>
      changeRecord<Claim>(claims, key, (c) => moveClaim(c, m), { clock: systemClock });
    await move({ type: 'take', epoch: 1, sequence: 1, incarnation: 'cli-1', nonce: 'n' });
    await move({ type: 'release' });
    await changeRecord(bus.calls, callKey('acme', callId), (c) => c && { ...c, epoch: 2 }, { clock: systemClock });
    let acked = 0;
    const data = Buffer.from(
      JSON.stringify({
        callId,
        tenant: 'acme',
        epoch: 1,
        by: 'cli-1',
        outcome: { status: 'ok', summary: 's', sideEffect: 'confirmed', trust: 'trusted' },
      }),
    );
    services.ctx.recent.delete(callId);
    await settleDelivery(services.ctx, {
      subject: `result.cli.acme.${callId}.1`,
      data,
      sequence: 1,
      deliveryCount: 1,
      ack: () => {
        acked += 1;
      },
      ackSync: async () => {},
      nak: () => {},
      working: () => {},
    });
    const call = await waitFor(() => bus.calls.get(callKey('acme', callId)));
    expect(call.value.late).toEqual([{ epoch: 1, status: 'ok' }]);
    expect(acked).toBe(1);
  });
});
