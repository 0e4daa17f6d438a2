import type { Actor, FabricEvent } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Retention, rowsOf } from './rows/event-rows.ts';
import {
  ADA,
  callIdOf,
  payloadEvent,
  plainEvent,
  settledEvent,
  spanOf,
  spansEvent,
  temporaryStore,
} from './testing/index.ts';
import type { TraceStore } from './trace-store.ts';

let store: TraceStore;
let end: () => Promise<void>;
beforeAll(async () => {
  ({ store, end } = await temporaryStore());
}, 60_000);
afterAll(() => end());

const KEEP: Retention = { days: 30, tenants: { brief: 1 } };
const put = (...events: FabricEvent[]) => store.insert(events.map((event) => rowsOf(event, KEEP)));
const list = (actor: Actor, filter: object = {}) => store.listCalls({ actor, limit: 50, ...filter });
const idsOf = async (actor: Actor, filter: object = {}) =>
  (await list(actor, filter)).calls.map(({ callId }) => callId);

/** Each test has a user of its own, so that one engine serves them all. */
let users = 0;
const someone = (): Actor => ({ tenant: 'acme', user: `user-${++users}`, agent: 'coder' });
let calls = 0;
const next = (): number => ++calls;

describe('one row a call', () => {
  it('TR-1: tells every field, and what has no column of its own as well', async () => {
    const actor = someone();
    const n = next();
    const at = Date.now();
    await put(
      settledEvent(n, {
        actor,
        at,
        state: 'error',
        error: 'tool_failed',
        errorLayer: 'adapter',
        sideEffect: 'possible',
        exitCode: 3,
        truncated: true,
        truncatedTotal: 90_000,
        artifacts: 2,
        repairs: callIdOf(999),
        background: true,
        takenOver: true,
        novelty: 'kept',
      }),
    );
    const { calls: found } = await list(actor);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      callId: callIdOf(n),
      user: actor.user,
      agent: 'coder',
      tool: 'workspace.read_file',
      version: '1.0.0',
      state: 'error',
      errorType: 'tool_failed',
      sideEffect: 'possible',
      attempt: 1,
      acceptedAt: at - 40,
      settledAt: at,
      durationMs: 40,
      truncated: true,
      artifacts: 2,
      turn: 2,
    });
    expect(found[0]?.attributes).toMatchObject({
      novelty: 'kept',
      exitCode: '3',
      errorLayer: 'adapter',
      model: 'model-4',
      repairs: callIdOf(999),
      truncatedTotal: '90000',
      background: 'true',
      takenOver: 'true',
    });
  });

  it('TR-1: the same event twice is one call, in one batch and in two', async () => {
    const actor = someone();
    const event = settledEvent(next(), { actor });
    await put(event, event);
    await put(event);
    expect((await list(actor)).calls).toHaveLength(1);
  });

  it('the end of an unknown call replaces it, whichever comes first and whatever the clocks say', async () => {
    for (const [order, later] of [
      [0, 5_000],
      [1, 5_000],
      [0, -5_000],
    ] as const) {
      const actor = someone();
      const n = next();
      const at = Date.now() - 10_000;
      const unknown = settledEvent(n, { actor, at, state: 'unknown' });
      const final = settledEvent(n, { actor, at: at + later, state: 'ok' });
      const both = order === 0 ? [unknown, final] : [final, unknown];
      for (const event of both) await put(event);
      const { calls: found } = await list(actor);
      expect(found.map(({ state }) => state)).toEqual(['ok']);
      expect(await idsOf(actor, { state: 'unknown' })).toEqual([]);
      expect(await idsOf(actor, { state: 'ok' })).toEqual([callIdOf(n)]);
    }
  });

  it('a refused call that was accepted later is told as it ended', async () => {
    const actor = someone();
    const n = next();
    const refused = { ...plainEvent(n, 'call.refused', { actor }), attributes: { error: 'overloaded' } };
    await put(refused);
    expect((await list(actor)).calls[0]).toMatchObject({ state: 'refused', errorType: 'overloaded' });
    await put(settledEvent(n, { actor }));
    expect((await list(actor)).calls).toMatchObject([{ state: 'ok' }]);
  });
});

describe('pages and filters', () => {
  it('TR-1: pages through all calls, newest first, each once, over rows that are not merged yet', async () => {
    const actor = someone();
    const base = Date.now() - 100_000;
    const numbers = Array.from({ length: 130 }, next);
    const events = numbers.map((n, index) => settledEvent(n, { actor, at: base + Math.floor(index / 3) }));
    await put(...events);
    await put(...events.slice(0, 70));
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await list(actor, { limit: 17, ...(after === undefined ? {} : { after }) });
      seen.push(...page.calls.map(({ callId }) => callId));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toHaveLength(130);
    expect(new Set(seen)).toEqual(new Set(numbers.map((n) => callIdOf(n))));
    const ordered = events.toSorted((a, b) => b.at - a.at || ((b.callId ?? '') > (a.callId ?? '') ? 1 : -1));
    expect(seen).toEqual(ordered.map(({ callId }) => callId));
  });

  it('filters by each field, and by several', async () => {
    const actor = someone();
    const at = Date.now() - 1_000;
    const [plain, cut, broken] = [next(), next(), next()];
    await put(
      settledEvent(plain, { actor, at }),
      settledEvent(cut, { actor, at: at + 10, truncated: true, tool: 'workspace.search_code' }),
      { ...settledEvent(broken, { actor, at: at + 20, state: 'error', error: 'tool_failed' }), taskId: 't-other' },
    );
    const one = (n: number) => [callIdOf(n)];
    expect(await idsOf(actor, { truncated: true })).toEqual(one(cut));
    expect(await idsOf(actor, { truncated: false, state: 'ok' })).toEqual(one(plain));
    expect(await idsOf(actor, { tool: 'workspace.search_code' })).toEqual(one(cut));
    expect(await idsOf(actor, { state: 'error' })).toEqual(one(broken));
    expect(await idsOf(actor, { errorType: 'tool_failed' })).toEqual(one(broken));
    expect(await idsOf(actor, { taskId: 't-other' })).toEqual(one(broken));
    expect(await idsOf(actor, { since: at + 5, until: at + 15 })).toEqual(one(cut));
    expect(await idsOf(actor, { tool: 'nothing.here' })).toEqual([]);
  });

  it.each(['', 'x', '1', '1,', ',2969-0', "1,' OR 1=1", '1,a,b', '99999999999999999,2969-0'])(
    'refuses the cursor %j',
    async (after) => {
      await expect(list(ADA, { after })).rejects.toMatchObject({ type: 'invalid_request' });
    },
  );
});

describe('the trace of one call', () => {
  it('TR-1: holds its row, its events in order, its spans and its payloads, each once', async () => {
    const actor = someone();
    const n = next();
    const at = Date.now();
    const events = [
      plainEvent(n, 'call.accepted', { actor, at: at - 40 }),
      payloadEvent(n, { arguments: '{"path":"a.ts"}', result: '{"text":"…"}' }, actor),
      settledEvent(n, { actor, at }),
      spansEvent([spanOf(n, 1, at), spanOf(n, 2, at)]),
    ];
    await put(...events);
    await put(...events);
    const trace = await store.getTrace({ actor, callId: callIdOf(n) });
    expect(trace.call?.callId).toBe(callIdOf(n));
    expect(trace.events.map(({ type }) => type).sort()).toEqual(['call.accepted', 'call.payloads', 'call.settled']);
    expect(trace.events[0]?.type).toBe('call.accepted');
    expect(trace.spans.map(({ spanId }) => spanId)).toEqual(['0000000000000001', '0000000000000002']);
    expect(trace.payloads.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'arguments {"path":"a.ts"}',
      'result {"text":"…"}',
    ]);
    expect(trace.cut).toBe(false);
  });

  it('of a call that has not ended has events and no row', async () => {
    const actor = someone();
    const n = next();
    await put(plainEvent(n, 'call.accepted', { actor }));
    const trace = await store.getTrace({ actor, callId: callIdOf(n) });
    expect(trace.call).toBeUndefined();
    expect(trace.events).toHaveLength(1);
  });

  it('finds what happened days apart', async () => {
    const actor = someone();
    const n = next();
    const at = Date.now();
    await put(
      plainEvent(n, 'call.accepted', { actor, at: at - 8 * 86_400_000 }),
      settledEvent(n, { actor, at, acceptedAt: at - 8 * 86_400_000 }),
      spansEvent([spanOf(n, 1, at - 4 * 86_400_000)]),
    );
    const trace = await store.getTrace({ actor, callId: callIdOf(n) });
    expect(trace.events).toHaveLength(2);
    expect(trace.spans).toHaveLength(1);
  });

  it('says when there is more than it holds, and always fits a message', async () => {
    const actor = someone();
    const n = next();
    const events = Array.from({ length: 230 }, (_, index) => ({
      ...plainEvent(n, 'call.probed', { actor }),
      id: `e${index}`,
      attributes: Object.fromEntries(Array.from({ length: 20 }, (_, k) => [`key-${k}`, 'x'.repeat(900)])),
    }));
    await put(...events, payloadEvent(n, { arguments: '\u0001'.repeat(40_000), result: 'é'.repeat(40_000) }, actor));
    const trace = await store.getTrace({ actor, callId: callIdOf(n) });
    expect(trace.cut).toBe(true);
    expect(trace.events.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(trace))).toBeLessThan(150 * 1024);
  });
});
