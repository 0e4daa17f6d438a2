import { getPriority } from 'node:os';
import {
  type EventsBus,
  eventPlace,
  type GatewayBus,
  HopSeals,
  type LedgerBus,
  type WorkerBus,
} from '@toolfabric/bus-nats';
import type { Actor, FabricEvent } from '@toolfabric/contract';
import type { SpawnedService } from '@toolfabric/testkit';
import { waitFor } from '@toolfabric/testkit';
import {
  callIdOf,
  payloadEvent,
  plainEvent,
  settledEvent,
  spanOf,
  spansEvent,
} from '@toolfabric/trace-clickhouse/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';
import { allCalls, ask, caughtUp, pageStatus, statusAt } from './trace-bench.ts';

/** One writer and one engine for the whole file; every test has a user of its own. */
let cluster: Cluster;
let writer: SpawnedService;
let address: unknown;
let router: LedgerBus;
let gateway: GatewayBus;
let artifacts: EventsBus;
let worker: WorkerBus;

beforeAll(async () => {
  cluster = await Cluster.start();
  writer = await cluster.ensure('trace-writer');
  address = (await writer.ready)['address'];
  router = cluster.ledger;
  gateway = await cluster.nats.connectAsGateway('test-gateway');
  artifacts = await cluster.nats.connectAsArtifacts('test-artifacts');
  worker = await cluster.nats.connectAsWorker('cli', 'test-worker');
  await waitFor(async () => (await statusAt(address)).store.state === 'ready', { timeoutMs: 30_000 });
}, 60_000);
afterAll(() => cluster.stop());

let users = 0;
const someone = (): Actor => ({ ...ADA, user: `traced-${++users}` });
let calls = 0;
const some = (count: number): number[] => Array.from({ length: count }, () => ++calls);

const storeAll = async (events: readonly FabricEvent[]): Promise<void> => {
  for (let at = 0; at < events.length; at += 200)
    await Promise.all(events.slice(at, at + 200).map((event) => router.events.store(event)));
};

const renewed = async () => {
  writer = await cluster.ensure('trace-writer');
  address = (await writer.ready)['address'];
  await waitFor(async () => (await statusAt(address)).store.state === 'ready', { timeoutMs: 30_000 });
};

describe('from the bus into the store', () => {
  it('TR-1: the events of every service become the trace of a call', async () => {
    const actor = someone();
    const [n = 0] = some(1);
    await storeAll([
      plainEvent(n, 'call.accepted', { actor, at: Date.now() - 50 }),
      payloadEvent(n, { arguments: '{"a":1}', result: '{"b":2}' }, actor),
      settledEvent(n, { actor, artifacts: 1 }),
    ]);
    await worker.events.store(spansEvent([spanOf(n, 1)], ADA.tenant, 'worker-cli'));
    await gateway.events.store(spansEvent([{ ...spanOf(n, 2), service: 'gateway' }], ADA.tenant, 'gateway'));
    await artifacts.events.store({ ...plainEvent(n, 'artifact.read', { actor }), service: 'artifacts' });
    const trace = await waitFor(async () => {
      const found = await ask(gateway, 'getTrace', { actor, callId: callIdOf(n) });
      return found.spans.length === 2 && found.events.length === 4 && found.call ? found : undefined;
    });
    expect(trace.payloads.map(({ text }) => text)).toEqual(['{"a":1}', '{"b":2}']);
    expect(trace.events.map(({ service }) => service)).toContain('artifacts');
    expect(await allCalls(gateway, actor)).toMatchObject([{ callId: callIdOf(n), artifacts: 1 }]);
  });

  it('TR-1: another tenant, another user and another agent get nothing, for both verbs', async () => {
    const actor = someone();
    const [n = 0] = some(1);
    await storeAll([plainEvent(n, 'call.accepted', { actor }), settledEvent(n, { actor })]);
    await waitFor(async () => (await allCalls(gateway, actor)).length === 1);
    for (const change of [{ tenant: 'rival' }, { user: 'bob' }, { agent: 'other' }]) {
      const other = { ...actor, ...change };
      expect(await allCalls(gateway, other)).toEqual([]);
      expect(await ask(gateway, 'getTrace', { actor: other, callId: callIdOf(n) })).toEqual({
        events: [],
        spans: [],
        payloads: [],
        cut: false,
      });
    }
  });

  it.each([
    ['listCalls', '{'],
    ['listCalls', '{}'],
    ['listCalls', JSON.stringify({ actor: ADA, limit: 1e6 })],
    ['listCalls', JSON.stringify({ actor: { ...ADA, tenant: 'A.B' } })],
    ['getTrace', JSON.stringify({ actor: ADA, callId: "x' OR 1=1" })],
    ['getTrace', JSON.stringify({ actor: { ...ADA, tenant: undefined }, callId: callIdOf(1) })],
    ['dropAll', '{}'],
    ['toString', '{}'],
  ])('a question %s %s is refused', async (verb, body) => {
    const answer = JSON.parse(await gateway.askTrace(verb as 'listCalls', body, 5_000)) as { error: { type: string } };
    expect(answer.error.type).toBe('invalid_request');
  });

  it('what is no valid event is counted and acknowledged, and holds nothing up', async () => {
    const before = await statusAt(address);
    const actor = someone();
    const [good = 0, bad = 0] = some(2);
    const raw = await cluster.nats.connectRaw('worker-cli');
    const { seeds, busKeys } = cluster.nats;
    const keys = { user: 'worker-cli', nkeySeed: seeds['worker-cli'] ?? '', publicKeys: busKeys };
    const seal = new HopSeals(keys).with('trace-writer');
    const publish = (subject: string, text: string) => raw.publish(subject, seal.close(eventPlace(subject), text));
    await publish('event.worker-cli.acme', 'no json');
    await publish('event.worker-cli.acme', JSON.stringify({ ...settledEvent(bad, { actor }), service: 'worker-cli' }));
    await publish(
      'event.worker-cli.rival',
      JSON.stringify({ ...plainEvent(bad, 'message.refused'), service: 'worker-cli' }),
    );
    // Without a code of its sender it is not even looked at.
    await raw.publish(
      'event.worker-cli.acme',
      JSON.stringify({ ...settledEvent(bad, { actor }), service: 'worker-cli' }),
    );
    await storeAll([settledEvent(good, { actor })]);
    await waitFor(async () => (await allCalls(gateway, actor)).length === 1);
    await waitFor(async () => {
      const { taken, lag } = await statusAt(address);
      const counted = Object.values(taken.invalid).reduce((sum, n) => sum + n, 0);
      const earlier = Object.values(before.taken.invalid).reduce((sum, n) => sum + n, 0);
      return counted - earlier === 3 && lag.every(({ waiting, unacknowledged }) => waiting + unacknowledged === 0);
    });
    expect((await allCalls(gateway, actor)).map(({ callId }) => callId)).toEqual([callIdOf(good)]);
    expect(writer.log.join('\n')).not.toContain('no json');
  });

  it('yields to the services that answer calls, and so does its engine', async () => {
    const { store } = await statusAt(address);
    expect([writer.pid, store.engine?.pid ?? 0].map(getPriority)).toEqual([10, 10]);
  });

  it('is healthy and ready, and says how far behind it is', async () => {
    expect(await pageStatus(address, '/healthz')).toBe(200);
    expect(await pageStatus(address, '/readyz')).toBe(200);
    const { lag } = await statusAt(address);
    expect(lag.map(({ stream }) => stream)).toContain('EVENTS_WORKER_CLI');
  });
});

describe('when the store is away', () => {
  const EVENTS = 2_000;
  const load = (actor: Actor) => some(EVENTS).map((n, index) => settledEvent(n, { actor, at: Date.now() - index }));

  it('TR-1: the engine killed over and over under load: no event is missing, and little is held meanwhile', async () => {
    const actor = someone();
    const before = await statusAt(address);
    let held = 0;
    let outage = true;
    const killing = (async () => {
      const end = performance.now() + 6_000;
      while (performance.now() < end) {
        const { store, writer: counts } = await statusAt(address);
        held = Math.max(held, counts.heldBytes);
        if (store.engine !== undefined && store.engine.pid > 0) {
          try {
            process.kill(store.engine.pid, 'SIGKILL');
          } catch {
            // It was gone already.
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      outage = false;
    })();
    await storeAll(load(actor));
    expect(outage).toBe(true);
    await killing;
    await caughtUp(address, before.writer.stored + EVENTS);
    const found = await allCalls(gateway, actor);
    expect(new Set(found.map(({ callId }) => callId)).size).toBe(EVENTS);
    expect(found).toHaveLength(EVENTS);
    expect(held).toBeLessThan(64 * 1024 * 1024);
    expect((await statusAt(address)).writer.retries).toBeGreaterThan(before.writer.retries);
  });

  it('TR-1: the engine stands still under load: it is replaced, and no event is missing', async () => {
    const actor = someone();
    const before = await statusAt(address);
    const pid = before.store.engine?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await storeAll(load(actor));
    await caughtUp(address, before.writer.stored + EVENTS);
    expect(new Set((await allCalls(gateway, actor)).map(({ callId }) => callId)).size).toBe(EVENTS);
    expect((await statusAt(address)).store.engine?.pid).not.toBe(pid);
  });

  it('TR-1: the writer killed under load: the next one goes on where it stopped', async () => {
    const actor = someone();
    const events = load(actor);
    const half = storeAll(events.slice(0, EVENTS / 2));
    await waitFor(async () => (await statusAt(address)).writer.heldEvents > 0, { everyMs: 5 }).catch(() => {});
    writer.kill('SIGKILL');
    await half;
    await writer.exited;
    await renewed();
    await storeAll(events.slice(EVENTS / 2));
    await waitFor(async () => (await allCalls(gateway, actor)).length === EVENTS, { timeoutMs: 60_000, everyMs: 500 });
  });

  it('told to stop under load, it stores what it holds, and ends well', async () => {
    const actor = someone();
    const events = load(actor);
    const sending = storeAll(events);
    await waitFor(async () => (await statusAt(address)).writer.heldEvents > 0, { everyMs: 5 }).catch(() => {});
    const { store } = await statusAt(address);
    writer.kill('SIGTERM');
    expect(await writer.exited).toEqual({ code: 0, signal: null });
    expect(() => process.kill(store.engine?.pid ?? 0, 0)).toThrow();
    await sending;
    await renewed();
    await waitFor(async () => (await allCalls(gateway, actor)).length === EVENTS, { timeoutMs: 60_000, everyMs: 500 });
  });
});
