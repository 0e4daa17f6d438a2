import type { Actor, FabricEvent } from '@toolfabric/contract';
import { silentLogger } from '@toolfabric/kernel';
import { StoreUnavailable } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RowsRejected } from './database.ts';
import { probeServer } from './probe-server.ts';
import { rowsOf } from './rows/event-rows.ts';
import {
  ADA,
  callIdOf,
  type HttpPeer,
  payloadEvent,
  plainEvent,
  settledEvent,
  spanOf,
  spansEvent,
  startHttpPeer,
  TEST_TIMES,
  temporaryDatabase,
} from './testing/index.ts';
import { openTraceStore, type TraceStore } from './trace-store.ts';

/** The client of a server over real HTTP; behind the peer answers a real engine. */
let peer: HttpPeer;
let store: TraceStore;
const ends: (() => Promise<void>)[] = [];

const openRemote = (password: string): Promise<TraceStore> =>
  openTraceStore(
    { type: 'clickhouse', url: peer.url, username: 'tracer', password, database: 'remote', ...TEST_TIMES },
    silentLogger,
  );

beforeAll(async () => {
  const { keeper, end } = await temporaryDatabase();
  ends.push(end);
  peer = await startHttpPeer(keeper, 'tracer', 'secret');
  ends.push(() => peer.stop());
  store = await openRemote('secret');
  ends.push(() => store.close());
  await store.whenReady(AbortSignal.timeout(30_000));
}, 60_000);
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const put = (...events: FabricEvent[]) => store.insert(events.map((event) => rowsOf(event, { days: 30, tenants: {} })));

describe('a server over HTTP', () => {
  it('TR-1: keeps and tells the same as the embedded engine', async () => {
    const at = Date.now();
    await put(
      plainEvent(1, 'call.accepted', { at: at - 40 }),
      payloadEvent(1, { arguments: '{"path":"ü"}', result: '{"text":"\\n"}' }),
      settledEvent(1, { at, exitCode: 2 }),
      spansEvent([spanOf(1, 1, at)]),
    );
    const { calls } = await store.listCalls({ actor: ADA, limit: 10, truncated: false, since: at - 1 });
    expect(calls).toMatchObject([{ callId: callIdOf(1), attributes: { exitCode: '2' } }]);
    const trace = await store.getTrace({ actor: ADA, callId: callIdOf(1) });
    expect(trace.events).toHaveLength(3);
    expect(trace.spans).toHaveLength(1);
    expect(trace.payloads.map(({ text }) => text)).toEqual(['{"path":"ü"}', '{"text":"\\n"}']);
    expect(store.status).toMatchObject({ type: 'clickhouse', state: 'ready' });
  });

  it('is told to store at once, not some time later', () => {
    expect(peer.insertSettings.every((settings) => settings['async_insert'] === '0')).toBe(true);
    expect(peer.insertSettings.length).toBeGreaterThan(0);
  });

  it.each([
    "'; DROP TABLE remote.calls; --",
    '\\',
    '{tenant:String}',
    'a\tb\nc',
    '\\N',
    '&param_tenant=rival',
    '😀',
    '%27',
  ])('%j goes there and back as it is, and shows nothing of anybody else', async (text) => {
    const actor: Actor = { tenant: 'acme', user: text, agent: text };
    expect(await store.listCalls({ actor, limit: 10 })).toEqual({ calls: [] });
    await put({ ...settledEvent(2, { actor, tool: text }), taskId: text });
    const { calls } = await store.listCalls({ actor, limit: 10, tool: text, taskId: text });
    expect(calls).toMatchObject([{ user: text, agent: text, tool: text, taskId: text }]);
  });

  it('rows that it cannot read are refused for good', async () => {
    const rows = rowsOf(settledEvent(3), { days: 1, tenants: {} });
    const broken = { ...rows, lines: { ...rows.lines, events: ['{"at":"never"}'] } };
    await expect(store.insert([broken])).rejects.toBeInstanceOf(RowsRejected);
  });

  it.each([
    [503, 202, 'TOO_MANY_SIMULTANEOUS_QUERIES'],
    [500, 241, 'MEMORY_LIMIT_EXCEEDED'],
    [500, 252, 'TOO_MANY_PARTS'],
    [500, 243, 'NOT_ENOUGH_SPACE'],
    [403, 516, 'AUTHENTICATION_FAILED'],
    [404, 60, 'UNKNOWN_TABLE'],
  ])('an answer %i %i %s is an outage: rows are kept and tried again', async (status, code, name) => {
    peer.fault = { status, code, name };
    try {
      await expect(put(settledEvent(4))).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(store.listCalls({ actor: ADA, limit: 1 })).rejects.toBeInstanceOf(StoreUnavailable);
      expect(store.status.state).toBe('away');
    } finally {
      peer.fault = undefined;
    }
    await put(settledEvent(4));
    expect(store.status.state).toBe('ready');
  });

  it('with a wrong password it is never ready, and says that it was refused', async () => {
    const stranger = await openRemote('guess');
    await expect.poll(() => stranger.status.reason, { timeout: 10_000 }).toContain('AUTHENTICATION_FAILED');
    expect(stranger.status.state).toBe('opening');
    await stranger.close();
  });
});

describe('a look at a server', () => {
  const look = (password: string, url = peer.url) => probeServer({ url, username: 'tracer', password });

  it('says its version, and otherwise what is off, never where or how it was asked', async () => {
    expect(await look('secret')).toEqual({ works: true, version: expect.stringMatching(/^\d+\./) });
    for (const probe of [await look('wrong'), await look('secret', 'http://127.0.0.1:1')]) {
      expect(probe).toEqual({ works: false, reason: expect.stringContaining('ClickHouse server does not answer') });
    }
  });
});
