import type { FabricEvent } from '@toolfabric/contract';
import { type Delivery, RequestUnanswered } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectEvents, type EventsBus } from './connect-events.ts';
import { connectGateway, type GatewayBus } from './connect-gateway.ts';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectTraceWriter, type TraceWriterBus } from './connect-trace-writer.ts';
import { TemporaryServer, waitFor } from './testing/index.ts';

let server: TemporaryServer;
let router: LedgerBus;
let gateway: GatewayBus;
let artifacts: EventsBus;
let tracer: TraceWriterBus;

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli'] });
  router = await connectLedger(server.configFor('router'));
  gateway = await connectGateway(server.configFor('gateway'));
  artifacts = await connectEvents(server.configFor('artifacts'), 'artifacts');
  tracer = await connectTraceWriter(server.configFor('trace-writer'), ['cli']);
});
afterAll(async () => {
  for (const bus of [router, gateway, artifacts, tracer]) await bus.close();
  await server.stop();
});

let count = 0;
const event = (service: string): FabricEvent => ({
  id: `e${++count}`,
  type: 'call.accepted',
  service,
  tenant: 'acme',
  at: 1,
  attributes: {},
});

const idOf = (delivery: Delivery): string => (JSON.parse(Buffer.from(delivery.data).toString()) as FabricEvent).id;
const open = { inFlight: 8, ahead: 4, everyMs: 20, hasRoom: () => true };

/** Takes events until `done` says so; `handle` decides what becomes of each. */
const take = async (
  handle: (delivery: Delivery) => Promise<void>,
  done: () => unknown,
  options = open,
): Promise<void> => {
  const stop = new AbortController();
  const running = tracer.feed.run(options, handle, stop.signal);
  await waitFor(done).finally(() => stop.abort());
  await running;
};

describe('the event feed of the trace writer', () => {
  it('brings the events of every service, and not again once they are acknowledged', async () => {
    const sent = [event('router'), event('gateway'), event('artifacts')];
    await router.events.store(sent[0] as FabricEvent);
    await gateway.events.store(sent[1] as FabricEvent);
    await artifacts.events.store(sent[2] as FabricEvent);
    const seen: string[] = [];
    await take(
      async (delivery) => {
        seen.push(idOf(delivery));
        await delivery.ackSync();
      },
      () => seen.length >= 3,
    );
    expect(seen.sort()).toEqual(sent.map(({ id }) => id).sort());
    const lag = await tracer.feed.lag();
    expect(lag.map(({ stream }) => stream)).toEqual([
      'EVENTS',
      'EVENTS_GATEWAY',
      'EVENTS_ARTIFACTS',
      'EVENTS_EGRESS',
      'EVENTS_WORKER_CLI',
    ]);
    expect(lag.every(({ waiting, unacknowledged }) => waiting === 0 && unacknowledged === 0)).toBe(true);
  });

  it('brings what was not acknowledged again', async () => {
    const sent = event('router');
    await router.events.store(sent);
    const counts: number[] = [];
    await take(
      async (delivery) => {
        if (idOf(delivery) !== sent.id) return;
        counts.push(delivery.deliveryCount);
        if (counts.length === 2) await delivery.ackSync();
      },
      () => counts.length >= 2,
    );
    expect(counts).toEqual([1, 2]);
  });

  it('takes no more at once than was said, and nothing while there is no room', async () => {
    for (let n = 0; n < 40; n += 1) await router.events.store(event('router'));
    let room = false;
    let running = 0;
    let most = 0;
    let ended = 0;
    const stop = new AbortController();
    const feeding = tracer.feed.run(
      { inFlight: 5, ahead: 3, everyMs: 20, hasRoom: () => room },
      async (delivery) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        await delivery.ackSync();
        running -= 1;
        ended += 1;
      },
      stop.signal,
    );
    await waitFor(async () => (await tracer.feed.lag())[0]?.waiting === 40);
    expect(ended).toBe(0);
    room = true;
    await waitFor(() => ended === 40);
    stop.abort();
    await feeding;
    expect(most).toBeLessThanOrEqual(5);
  });
});

describe('a stream that has nothing more', () => {
  it('is left alone until the next look: what comes meanwhile is taken together', async () => {
    const looks: number[] = [];
    const stop = new AbortController();
    const everyMs = 400;
    const feeding = tracer.feed.run(
      { inFlight: 500, ahead: 16, everyMs, hasRoom: () => true },
      async (delivery) => {
        looks.push(Math.floor(performance.now() / everyMs));
        await delivery.ackSync();
      },
      stop.signal,
    );
    const began = performance.now();
    while (performance.now() - began < 4 * everyMs) {
      await router.events.store(event('router'));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await waitFor(async () => {
      const [lag] = await tracer.feed.lag();
      return lag?.waiting === 0 && lag.unacknowledged === 0;
    });
    stop.abort();
    await feeding;
    expect(looks.length).toBeGreaterThan(40);
    // A message that came between two looks was taken soon after the second of them.
    expect(new Set(looks).size).toBeLessThanOrEqual(7);
  });

  it('brings many messages that come again in one look', async () => {
    const sent = 40;
    for (let n = 0; n < sent; n += 1) await router.events.store(event('router'));
    let again = 0;
    await take(
      async (delivery) => {
        if (delivery.deliveryCount === 1) return delivery.nak(0);
        again += 1;
        await delivery.ackSync();
      },
      () => again === sent,
      // One a look would take longer than anybody waits here.
      { ...open, everyMs: 2_000 },
    );
  });
});

describe('questions to the trace store', () => {
  it('TR-1: are answered while it serves, and unanswered when there is none', async () => {
    await expect(gateway.askTrace('getTrace', 'x', 300)).rejects.toBeInstanceOf(RequestUnanswered);
    const stop = tracer.serve(async (verb, body) => `${verb}: ${body}`);
    // The server may hear of the question before it hears of the subscription.
    expect(await waitFor(() => gateway.askTrace('listCalls', 'x', 500))).toBe('listCalls: x');
    stop();
    await expect(gateway.askTrace('getTrace', 'x', 300)).rejects.toBeInstanceOf(RequestUnanswered);
  });
});
