import type { FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let ada: FabricClient;
let taskId: string;
beforeAll(async () => {
  cluster = await Cluster.startWith(['truth', 'router', 'gateway', 'trace-writer']);
  ada = cluster.client();
  ({ taskId } = await ada.createTask({ title: 'traced' }));
}, 60_000);
afterAll(() => cluster.stop());

const LONG = { timeout: 30_000, interval: 200 };

describe('real calls', () => {
  it('TR-1: a call is told with what the model said of it, its events and its spans, to its owner alone', async () => {
    const call = await ada.call({
      taskId,
      tool: 'truth.append',
      args: { identity: 'traced-1' },
      turn: 4,
      model: 'model-4',
      modelCallId: 'toolu_1',
    });
    expect(call.state).toBe('ok');
    await expect.poll(async () => (await ada.getTrace(call.callId)).call?.state, LONG).toBe('ok');
    await expect.poll(async () => (await ada.getTrace(call.callId)).spans.length, LONG).toBeGreaterThan(2);
    const { call: row, events, spans } = await ada.getTrace(call.callId);
    expect(row).toMatchObject({
      tool: 'truth.append',
      taskId,
      user: 'ada',
      agent: 'coder',
      turn: 4,
      sideEffect: 'confirmed',
    });
    expect(row?.attributes).toMatchObject({ model: 'model-4', modelCallId: 'toolu_1' });
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['call.accepted', 'call.settled']));
    expect(new Set(spans.map(({ service }) => service)).size).toBeGreaterThan(1);
    for (const other of [cluster.client({ user: 'bob' }), cluster.client({ tenant: 'rival' })]) {
      expect((await other.listCalls({ taskId })).calls).toEqual([]);
      const seen = await other.getTrace(call.callId).catch((error: { type?: string }) => error);
      expect(seen).toMatchObject('type' in seen ? { type: 'not_found' } : { events: [], spans: [] });
    }
  });

  it('TR-1: what was refused is listed as well', async () => {
    const refused = await ada.call({ taskId, tool: 'truth.append', args: { wrong: 1 } }).catch((error) => error);
    expect(refused).toBeDefined();
    await expect
      .poll(async () => (await ada.listCalls({ state: 'refused' })).calls.map(({ errorType }) => errorType), LONG)
      .toContain('invalid_arguments');
  });

  it('TR-1: a list of many calls is complete, and filtered by task', async () => {
    const { taskId: second } = await ada.createTask({ title: 'second' });
    const made = await Promise.all(
      Array.from({ length: 20 }, () => ada.call({ taskId: second, tool: 'truth.noop', args: {} })),
    );
    await expect.poll(async () => (await ada.listCalls({ taskId: second })).calls.length, LONG).toBe(20);
    const { calls } = await ada.listCalls({ taskId: second, limit: 100 });
    expect(new Set(calls.map(({ callId }) => callId))).toEqual(new Set(made.map(({ callId }) => callId)));
  });
});
