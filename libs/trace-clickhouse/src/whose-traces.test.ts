import type { Actor, FabricEvent } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RowsRejected } from './database.ts';
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
/** Each test has a user of its own, so that one engine serves them all. */
let users = 0;
const someone = (): Actor => ({ tenant: 'acme', user: `user-${++users}`, agent: 'coder' });
let calls = 0;
const next = (): number => ++calls;

describe('whose traces', () => {
  const others = (actor: Actor): Actor[] => [
    { ...actor, tenant: 'rival' },
    { ...actor, user: 'bob' },
    { ...actor, agent: 'reviewer' },
    { ...actor, user: '' as string },
    { ...actor, user: `${actor.user}' OR '1'='1` },
    { ...actor, user: '{user:String}' },
    { ...actor, user: `${actor.user}\\` },
    { ...actor, user: `${actor.user}\0` },
    { ...actor, agent: "coder' --" },
  ];

  it('TR-1: nobody but the tenant, the user and the agent of a call sees anything of it', async () => {
    const actor = someone();
    const n = next();
    await put(
      plainEvent(n, 'call.accepted', { actor }),
      payloadEvent(n, { arguments: `{"secret":"${actor.user}"}`, result: '{}' }, actor),
      settledEvent(n, { actor }),
      spansEvent([spanOf(n, 1)]),
    );
    for (const other of others(actor)) {
      expect(await list(other)).toEqual({ calls: [] });
      expect(await store.getTrace({ actor: other, callId: callIdOf(n) })).toEqual({
        events: [],
        spans: [],
        payloads: [],
        cut: false,
      });
    }
    expect((await store.getTrace({ actor, callId: callIdOf(n) })).spans).toHaveLength(1);
  });

  it('who was given an artifact of a call and read it sees nothing of the call', async () => {
    const owner = someone();
    const n = next();
    const readers = [{ ...owner, agent: 'reviewer' }, someone()];
    await put(
      plainEvent(n, 'call.accepted', { actor: owner }),
      payloadEvent(n, { arguments: '{"secret":1}', result: '{}' }, owner),
      settledEvent(n, { actor: owner }),
      spansEvent([spanOf(n, 1)]),
      ...readers.map((actor, at) => ({
        ...plainEvent(n, 'artifact.read', { actor }),
        ...{ id: `read-${n}-${at}`, service: 'artifacts' },
      })),
    );
    for (const actor of readers) {
      const nothing = { events: [], spans: [], payloads: [], cut: false };
      expect(await store.getTrace({ actor, callId: callIdOf(n) })).toEqual(nothing);
    }
    expect((await store.getTrace({ actor: owner, callId: callIdOf(n) })).spans).toHaveLength(1);
  });

  it('PO-6: decisions are told for a whole tenant, page by page, and to no other tenant', async () => {
    const tenant = 'decider';
    const decided = (n: number, user: string, at: number, service = 'router'): FabricEvent => {
      const text = JSON.stringify({ verdict: 'allow', n });
      return {
        ...plainEvent(n, 'call.payloads', { actor: { tenant, user, agent: 'coder' }, at }),
        id: `${callIdOf(n)}:policy.${at}`,
        service,
        payloads: [{ kind: 'policy_input', sha256: sha256Hex(text), bytes: text.length, text, cut: false }],
      };
    };
    const now = Date.now();
    const [a, b, c, forged] = [next(), next(), next(), next()];
    const actor = { tenant, user: 'ann', agent: 'coder' };
    await put(
      decided(a, 'ann', now - 3),
      decided(b, 'bob', now - 2),
      decided(c, 'ann', now - 1),
      decided(forged, 'bob', now, 'worker-cli'),
      payloadEvent(a, { arguments: '{"secret":1}', result: '{}' }, actor),
    );
    const first = await store.listDecisions({ tenant, limit: 2 });
    expect(first.decisions.map(({ callId, text }) => [callId, JSON.parse(text).n])).toEqual([
      [callIdOf(c), c],
      [callIdOf(b), b],
    ]);
    const second = await store.listDecisions({ tenant, limit: 2, ...(first.next && { after: first.next }) });
    expect(second.decisions.map(({ callId }) => callId)).toEqual([callIdOf(a)]);
    expect(second.next).toBeUndefined();
    expect((await store.listDecisions({ tenant, limit: 50, callId: callIdOf(b) })).decisions).toHaveLength(1);
    expect((await store.listDecisions({ tenant, limit: 50, since: now - 1 })).decisions).toHaveLength(1);
    for (const other of ['acme', 'rival'])
      expect((await store.listDecisions({ tenant: other, limit: 50, callId: callIdOf(b) })).decisions).toEqual([]);
    await expect(store.listDecisions({ tenant, limit: 50, after: "1,x' OR 1" })).rejects.toMatchObject({
      type: 'invalid_request',
    });
  });

  it('an event without an owner is shown to nobody', async () => {
    const n = next();
    const { actor: _, ...event } = plainEvent(n, 'call.accepted');
    await put(event);
    expect((await store.getTrace({ actor: ADA, callId: callIdOf(n) })).events).toEqual([]);
    expect((await store.getTrace({ actor: { ...ADA, user: '', agent: '' }, callId: callIdOf(n) })).events).toHaveLength(
      1,
    );
  });

  it('a call of one’s own does not show spans of another call in the same trace', async () => {
    const [actor, victim] = [someone(), someone()];
    const [own, foreign] = [next(), next()];
    await put(settledEvent(own, { actor }), settledEvent(foreign, { actor: victim }));
    const shared = 'f'.repeat(32);
    await put(
      spansEvent([
        { ...spanOf(own, 1), traceId: shared },
        { ...spanOf(foreign, 2), traceId: shared },
      ]),
    );
    const trace = await store.getTrace({ actor, callId: callIdOf(own) });
    expect(trace.spans.map(({ callId }) => callId)).toEqual([callIdOf(own)]);
  });
});

describe('hostile text', () => {
  const TEXTS = [
    "'; DROP TABLE toolfabric.calls; --",
    '"',
    '\\',
    "\\'",
    '{tenant:String}',
    '{x:Array(String)}',
    '`calls`',
    'a\tb\nc\r',
    '\u0000null',
    '\\N',
    'NULL',
    '%',
    '😀\u202e',
    '; SELECT 1',
    "') FORMAT JSON SETTINGS max_execution_time=0 --",
  ];

  it.each(TEXTS)('%j is stored and found as it is, as a name and as a filter', async (text) => {
    const actor = { ...someone(), agent: text };
    const n = next();
    await put({ ...settledEvent(n, { actor, tool: text, state: text, error: text, note: text }), taskId: text });
    const { calls: found } = await list(actor, { tool: text, state: text, errorType: text, taskId: text });
    expect(found).toMatchObject([{ agent: text, tool: text, taskId: text, attributes: { note: text } }]);
    expect((await store.getTrace({ actor, callId: callIdOf(n) })).events).toHaveLength(1);
  });

  it('half a character becomes a whole one, and the row is kept', async () => {
    const actor = someone();
    await put(settledEvent(next(), { actor, note: 'a\ud800b' }));
    expect((await list(actor)).calls[0]?.attributes['note']).toBe('a\ufffdb');
  });

  it('numbers beyond their column are held within it', async () => {
    const actor = someone();
    await put(
      settledEvent(next(), {
        actor,
        attempt: 1e300,
        artifacts: -5,
        turn: 0.5,
        exitCode: 2 ** 40,
        resultBytes: Number.MAX_VALUE,
      }),
    );
    expect((await list(actor)).calls[0]).toMatchObject({ artifacts: 0, turn: 0, attempt: 4_294_967_295 });
  });

  it('a row that the engine cannot read is refused for good, and named so', async () => {
    const rows = rowsOf(settledEvent(next()), KEEP);
    const broken = { ...rows, lines: { ...rows.lines, calls: ['{"tenant":"acme","version":"not a number"}'] } };
    await expect(store.insert([broken])).rejects.toBeInstanceOf(RowsRejected);
    await expect(store.insert([broken])).rejects.not.toThrow(/not a number/);
  });
});

describe('expiry', () => {
  it('each tenant keeps its rows for its own days', async () => {
    const day = 86_400_000;
    const at = Date.now() - 2 * day;
    const [brief, lasting] = [
      { ...someone(), tenant: 'brief' },
      { ...someone(), tenant: 'acme' },
    ];
    const [a, b] = [next(), next()];
    await put(settledEvent(a, { actor: brief, at }), settledEvent(b, { actor: lasting, at }));
    expect((await list(brief)).calls).toEqual([]);
    expect((await store.getTrace({ actor: brief, callId: callIdOf(a) })).events).toEqual([]);
    expect((await list(lasting)).calls).toHaveLength(1);
  });
});
