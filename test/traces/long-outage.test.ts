import type { GatewayBus } from '@toolfabric/bus-nats';
import type { Actor, FabricEvent } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import { type SpawnedService, waitFor } from '@toolfabric/testkit';
import { settledEvent } from '@toolfabric/trace-clickhouse/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';
import { allCalls, caughtUp, statusAt } from './trace-bench.ts';

/** Set by hand: the store is away for a full minute, with load all the time. */
const OUTAGE_MS = process.env['TOOLFABRIC_STRESS'] === '1' ? 60_000 : 0;
const HELD_EVENTS = 200;
const HELD_KB = 64;
/** Many times what each buffer holds. */
const EVENTS = 3_000;
const ROUND = 100;

let cluster: Cluster;
let address: unknown;
let gateway: GatewayBus;
beforeAll(async () => {
  cluster = await Cluster.start();
  const writer: SpawnedService = cluster.spawn('trace-writer', '', {
    TOOLFABRIC_TRACE_HELD_EVENTS: String(HELD_EVENTS),
    TOOLFABRIC_TRACE_HELD_KB: String(HELD_KB),
  });
  address = (await writer.ready)['address'];
  gateway = await cluster.nats.connectAsGateway('test-gateway');
  await waitFor(async () => (await statusAt(address)).store.state === 'ready', { timeoutMs: 30_000 });
}, 60_000);
afterAll(() => cluster.stop());

/** Kills the engine whenever it comes back, until the outage is ended; says how much was held at the most. */
const outage = (): { end(): Promise<{ events: number; bytes: number }> } => {
  let isOver = false;
  const most = { events: 0, bytes: 0 };
  const killing = (async () => {
    while (!isOver) {
      const status = await statusAt(address).catch(() => undefined);
      if (status === undefined) return;
      const { store, writer: counts } = status;
      most.events = Math.max(most.events, counts.heldEvents);
      most.bytes = Math.max(most.bytes, counts.heldBytes);
      try {
        if (store.engine !== undefined && store.engine.pid > 0) process.kill(store.engine.pid, 'SIGKILL');
      } catch {
        // It was gone already.
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await killing;
      return most;
    },
  };
};

let calls = 0;
const load = (actor: Actor): FabricEvent[] =>
  Array.from({ length: ROUND }, () => settledEvent(++calls, { actor, at: Date.now() }));

/** Through the bus as the router sends: each is stored there before the next round. */
const sendFor = async (actor: Actor, least: number, ms: number): Promise<number> => {
  const until = performance.now() + ms;
  let sent = 0;
  while (sent < least || performance.now() < until) {
    await Promise.all(load(actor).map((event) => cluster.ledger.events.store(event)));
    sent += ROUND;
    // With a minute at hand the load goes on to its end, and stays one that a store can take in afterwards.
    if (sent >= least) await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return sent;
};

const lagAt = async (): Promise<{ waiting: number; unacknowledged: number }> => {
  const { lag } = await statusAt(address);
  return lag.find(({ stream }) => stream === 'EVENTS') ?? { waiting: 0, unacknowledged: 0 };
};

describe('a trace store that is away for longer than anything can be held', () => {
  it(
    'TR-1: every buffer overflows into the one behind it, and afterwards no event is missing and none is twice',
    async () => {
      const actor = { ...ADA, user: 'patient' };
      const before = await statusAt(address);
      const away = outage();
      const sent = await sendFor(actor, EVENTS, OUTAGE_MS);
      // Past the buffers of the writer: the rest waits in the stream.
      await waitFor(async () => (await lagAt()).waiting > EVENTS / 2, { timeoutMs: 20_000 });
      // Past the time that the bus waits for an acknowledgement: what is held is sent again.
      await new Promise((resolve) => setTimeout(resolve, PACES.test.ackWaitMs + 1_000));
      const during = await statusAt(address);
      expect(during.writer.stored - before.writer.stored).toBeLessThan(sent / 2);
      const most = await away.end();
      await caughtUp(address, before.writer.stored + sent);
      await waitFor(async () => (await lagAt()).waiting === 0, { timeoutMs: 20_000 });
      expect(most.events).toBeLessThanOrEqual(2 * HELD_EVENTS);
      // Above the bound nothing more is asked for; what was asked for by then still comes.
      expect(most.bytes).toBeGreaterThan(HELD_KB * 1024);
      expect(most.bytes).toBeLessThan((HELD_KB + 4 * HELD_EVENTS) * 1024);
      const found = await allCalls(gateway, actor);
      expect(new Set(found.map(({ callId }) => callId)).size).toBe(sent);
      expect(found).toHaveLength(sent);
    },
    OUTAGE_MS + 120_000,
  );
});
