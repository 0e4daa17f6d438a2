import { resourceKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, RouterWorld } from './support/router-world.ts';

let world: RouterWorld;
let taskId = '';
interface Run {
  readonly callId: string;
  readonly resource: string;
  readonly began: number;
  ended: number;
}
const runs: Run[] = [];
let now = 0;
const holds = new Map<string, Promise<void>>();

beforeAll(async () => {
  world = await RouterWorld.start({
    routers: 2,
    slots: 8,
    tools: [
      {
        contract: {
          name: 'notes.post',
          governance: {
            risk: 'external_write',
            claimless: false,
            resource: 'notes:{/text}',
            reconcile: { by: 'probe', fence: 'none', window_ms: 1_000 },
          },
        },
        effect: 'outside',
        handle: async (args, ctx) => {
          now += 1;
          const run: Run = { callId: ctx.callId, resource: String(args['text']), began: now, ended: 0 };
          runs.push(run);
          await (holds.get(run.resource) ?? new Promise((resolve) => setTimeout(resolve, 20)));
          now += 1;
          run.ended = now;
          return {};
        },
      },
    ],
  });
  taskId = await world.task();
});
afterAll(() => world.stop());

const post = async (text: string) => {
  const view = await world.front.call({ taskId, tool: 'notes.post', args: { text } });
  expect(view.state).toBe('awaiting_approval');
  return view;
};
const lease = async (text: string) => (await world.bus.resources.get(resourceKey(ADA.tenant, `notes:${text}`)))?.value;
const runsOf = (resource: string) => runs.filter((run) => run.resource === resource);

describe('writes of one resource, with two routers', () => {
  it('RT-7: run one after the other, and nothing is left behind', async () => {
    const views = await Promise.all(Array.from({ length: 10 }, () => post('shared')));
    await Promise.all(views.map((view) => world.approve(view)));
    const ends = await Promise.all(views.map(({ callId }) => world.ended(callId)));
    expect(ends.map(({ state }) => state)).toEqual(Array(10).fill('ok'));
    const order = runsOf('shared').sort((a, b) => a.began - b.began);
    expect(order).toHaveLength(10);
    for (const [at, run] of order.entries()) if (at > 0) expect(run.began).toBeGreaterThan(order[at - 1]?.ended ?? 0);
    await waitFor(async () => (await lease('shared')) === undefined, { what: 'the end of the lease' });
  });

  it('RT-7: of different resources run at once; who waits holds no message, and goes on in the order of acceptance', async () => {
    let release = () => {};
    holds.set('held', new Promise((resolve) => (release = resolve)));
    const first = await post('held');
    await world.approve(first);
    await waitFor(() => runsOf('held').length === 1, { what: 'the first write' });
    const second = await post('held');
    const third = await post('held');
    await world.approve(third);
    await waitFor(async () => (await lease('held'))?.waiting.length === 1, { what: 'the third in the queue' });
    await world.approve(second);
    await waitFor(async () => (await lease('held'))?.waiting.length === 2, { what: 'both in the queue' });
    expect((await lease('held'))?.waiting.map(({ callId }) => callId)).toEqual([second.callId, third.callId]);
    const other = await post('other');
    await world.approve(other);
    expect((await world.ended(other.callId)).state).toBe('ok');
    const view = await world.front.ask('getCall', { actor: ADA, callId: second.callId });
    expect(view.state).toBe('accepted');
    release();
    holds.delete('held');
    await Promise.all([second, third].map(({ callId }) => world.ended(callId)));
    expect(runsOf('held').map(({ callId }) => callId)).toEqual([first.callId, second.callId, third.callId]);
  });

  it('RT-7: a call that is cancelled while it waits leaves the queue, and a holder that is gone is passed by', async () => {
    const key = resourceKey(ADA.tenant, 'notes:gone');
    const over = await post('elsewhere');
    await world.front.ask('cancelCall', { actor: ADA, callId: over.callId });
    await world.bus.resources.create(key, { holder: over.callId, waiting: [] });
    const next = await post('gone');
    await world.approve(next);
    expect((await world.ended(next.callId)).state).toBe('ok');

    let release = () => {};
    holds.set('kept', new Promise((resolve) => (release = resolve)));
    const [holder, waiting, last] = [await post('kept'), await post('kept'), await post('kept')];
    await world.approve(holder);
    await waitFor(() => runsOf('kept').length === 1, { what: 'the holder' });
    await world.approve(waiting);
    await world.approve(last);
    await waitFor(async () => (await lease('kept'))?.waiting.length === 2, { what: 'both in the queue' });
    const cancelled = await world.front.ask('cancelCall', { actor: ADA, callId: waiting.callId });
    expect(cancelled).toMatchObject({ state: 'cancelled', result: { sideEffect: 'none' } });
    release();
    holds.delete('kept');
    expect((await world.ended(last.callId)).state).toBe('ok');
    expect(runsOf('kept').map(({ callId }) => callId)).toEqual([holder.callId, last.callId]);
  });
});
