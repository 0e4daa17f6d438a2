import { MAX_MESSAGE_BYTES } from '@toolfabric/contract';
import { endSpan, SPAN, SpanKind, startSpan } from '@toolfabric/kernel';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type RunningTelemetry, startTelemetry, type TelemetryOptions } from './start-telemetry.ts';
import { Collector } from './testing/collector.ts';
import { EventList } from './testing/event-list.ts';

let running: RunningTelemetry | undefined;
let collector: Collector | undefined;
afterEach(async () => {
  await running?.shutdown();
  await collector?.stop();
  running = undefined;
  collector = undefined;
});

const start = (events: EventList, options: Partial<TelemetryOptions> = {}): RunningTelemetry => {
  const settings = { sampling: 1 };
  running = startTelemetry({
    service: 'router',
    role: 'router',
    settings,
    events,
    isConnected: () => true,
    ...options,
  });
  return running;
};

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331';

const span = (
  telemetry: RunningTelemetry,
  tenant: string | undefined,
  more: object = {},
  traceparent?: string,
): void => {
  const attributes = { ...(tenant === undefined ? {} : { [SPAN.tenant]: tenant }), ...more };
  endSpan(startSpan(telemetry.tracer, 'a', { kind: SpanKind.SERVER, attributes, traceparent }));
};

const sampleOf = async (telemetry: RunningTelemetry, series: string): Promise<number> => {
  const lines = (await telemetry.metricsText()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1));
};

/** Lets the batches that are full go out. */
const turns = async (): Promise<void> => {
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('spans as events', () => {
  it('are handed over at the end, with what they say and without the tenant among the attributes', async () => {
    const events = new EventList();
    const telemetry = start(events, { now: () => 5 });
    span(telemetry, 'acme', { [SPAN.callId]: 'c-1', text: 'x'.repeat(500), list: ['a'] }, `${TRACEPARENT}-01`);
    await telemetry.shutdown();
    const [event] = events.events;
    expect(event).toMatchObject({ type: 'trace.spans', service: 'router', tenant: 'acme', at: 5, attributes: {} });
    expect(event?.spans).toEqual([
      {
        traceId: '0af7651916cd43dd8448eb211c80319c',
        spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
        parentSpanId: 'b7ad6b7169203331',
        name: 'a',
        kind: 'server',
        service: 'router',
        callId: 'c-1',
        startUs: expect.any(Number),
        endUs: expect.any(Number),
        status: 'unset',
        attributes: { text: 'x'.repeat(200) },
      },
    ]);
  });

  it('go out once a second', async () => {
    const events = new EventList();
    const telemetry = start(events);
    span(telemetry, 'acme');
    expect(events.events).toEqual([]);
    await vi.waitFor(() => expect(events.spans).toHaveLength(1), { timeout: 5_000 });
  });

  it('are batched for each tenant: at most 200, and at most a message', async () => {
    const events = new EventList();
    const telemetry = start(events);
    for (let i = 0; i < 450; i += 1) span(telemetry, i % 3 === 0 ? 'rival' : 'acme', { n: i, text: 'ä'.repeat(200) });
    await telemetry.shutdown();
    expect(events.spans).toHaveLength(450);
    expect(new Set(events.events.map(({ id }) => id)).size).toBe(events.events.length);
    for (const event of events.events) {
      expect(event.spans?.length).toBeLessThanOrEqual(200);
      expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(MAX_MESSAGE_BYTES - 8_192);
      const own = event.spans?.map(({ attributes }) => (Number(attributes['n']) % 3 === 0 ? 'rival' : 'acme'));
      expect(new Set(own)).toEqual(new Set([event.tenant]));
    }
  });

  it('a full message goes out at once', async () => {
    const events = new EventList();
    const telemetry = start(events);
    for (let i = 0; i < 200; i += 1) span(telemetry, 'acme');
    await turns();
    expect(events.spans).toHaveLength(200);
  });

  it('wait in a bounded queue: what does not fit is dropped and counted', async () => {
    const events = new EventList();
    const telemetry = start(events);
    for (let tenant = 0; tenant < 50; tenant += 1) for (let i = 0; i < 100; i += 1) span(telemetry, `t${tenant}`);
    expect(await sampleOf(telemetry, 'toolfabric_spans_dropped_total')).toBe(5_000 - 4_096);
    await telemetry.shutdown();
    expect(events.spans).toHaveLength(4_096);
    expect(await sampleOf(telemetry, 'toolfabric_spans_ended_total')).toBe(4_096);
  });

  it('without a tenant, or unsampled, go nowhere', async () => {
    const events = new EventList();
    const telemetry = start(events);
    span(telemetry, undefined);
    span(telemetry, 'acme', {}, `${TRACEPARENT}-00`);
    await telemetry.shutdown();
    expect(events.events).toEqual([]);
  });

  it('none are made with a sampling of 0, not even for a caller who asks', async () => {
    const events = new EventList();
    const telemetry = start(events, { settings: { sampling: 0 } });
    span(telemetry, 'acme', {}, `${TRACEPARENT}-01`);
    await telemetry.shutdown();
    expect(events.events).toEqual([]);
  });

  it('a share of the traces is recorded, each whole or not at all', async () => {
    const events = new EventList();
    const telemetry = start(events, { settings: { sampling: 0.5 } });
    for (let i = 0; i < 400; i += 1) span(telemetry, 'acme');
    await telemetry.shutdown();
    expect(events.spans.length).toBeGreaterThan(100);
    expect(events.spans.length).toBeLessThan(300);
  });
});

describe('two services in one process', () => {
  it('have spans and numbers of their own', async () => {
    const [one, two] = [new EventList(), new EventList()];
    const first = start(one);
    const second = startTelemetry({
      service: 'gateway',
      role: 'gateway',
      settings: { sampling: 1 },
      events: two,
      isConnected: () => false,
    });
    span(first, 'acme');
    span(second, 'acme');
    first.metrics.count('toolfabric_probes_total', { kind: 'cli' });
    await Promise.all([first.shutdown(), second.shutdown()]);
    expect([one, two].map(({ spans }) => spans.map(({ service }) => service))).toEqual([['router'], ['gateway']]);
    expect(await second.metricsText()).not.toContain('toolfabric_probes_total');
    expect(await sampleOf(first, 'toolfabric_bus_connected')).toBe(1);
    expect(await sampleOf(second, 'toolfabric_bus_connected')).toBe(0);
    expect(await sampleOf(second, 'toolfabric_events_dropped_total{type="trace.spans"}')).toBe(1);
  });
});

describe('an OTLP collector', () => {
  const withCollector = async (mood: Collector['mood']): Promise<[RunningTelemetry, EventList]> => {
    collector = await Collector.start(mood);
    const events = new EventList();
    return [start(events, { settings: { sampling: 1, otlpEndpoint: collector.url } }), events];
  };

  it('gets the spans as protobuf, also those that wait at the end', async () => {
    const [telemetry] = await withCollector('takes');
    span(telemetry, 'acme');
    await telemetry.shutdown();
    expect([...(collector?.paths ?? [])]).toEqual(['POST /v1/traces application/x-protobuf']);
    expect(await sampleOf(telemetry, 'toolfabric_otlp_spans_total{outcome="exported"}')).toBe(1);
  });

  it('that hangs costs one request, a bounded queue, and no span of the trace store', async () => {
    const [telemetry, events] = await withCollector('hangs');
    for (let round = 0; round < 100; round += 1) {
      for (let i = 0; i < 150; i += 1) span(telemetry, 'acme');
      await turns();
    }
    expect(collector?.mostHeld).toBe(1);
    expect(await sampleOf(telemetry, 'toolfabric_otlp_spans_total{outcome="dropped"}')).toBe(15_000 - 2_048 - 512);
    await telemetry.shutdown();
    expect(events.spans).toHaveLength(15_000);
  }, 20_000);

  it('that refuses costs no more than the spans that were for it', async () => {
    const [telemetry] = await withCollector('refuses');
    span(telemetry, 'acme');
    await telemetry.shutdown();
    expect(collector?.requests).toBeGreaterThan(0);
    expect(await sampleOf(telemetry, 'toolfabric_otlp_spans_total{outcome="exported"}')).toBeNaN();
  });

  it('that is not there does not keep a service from ending', async () => {
    const telemetry = start(new EventList(), { settings: { sampling: 1, otlpEndpoint: 'http://127.0.0.1:9' } });
    span(telemetry, 'acme');
    await telemetry.shutdown();
    await telemetry.shutdown();
  });
});
