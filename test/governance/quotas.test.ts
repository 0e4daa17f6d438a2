import { uuidv7 } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RouterWorld } from './support/router-world.ts';

const QUOTAS = {
  default: { perSecond: 400, burst: 60, inFlight: 60, queuedPerPool: 50, requests: 40 },
  tenants: {
    slow: { perSecond: 1, burst: 2 },
    narrow: { inFlight: 4 },
    tooled: { tools: { 'notes.find': { perSecond: 1, burst: 3 }, 'notes.hang': { inFlight: 2 } } },
  },
};
const TENANTS = Array.from({ length: 10 }, (_, n) => `team-${n}`);
const FLOOD = TENANTS[0] as string;

let world: RouterWorld;
let release: () => void = () => {};
const gate = new Promise<void>((resolve) => {
  release = resolve;
});

beforeAll(async () => {
  world = await RouterWorld.start({
    routers: 2,
    slots: 8,
    quotas: QUOTAS,
    tools: [
      { contract: { name: 'notes.find' }, effect: 'none', handle: async () => ({}) },
      {
        contract: { name: 'notes.hang', governance: { claimless: false } },
        effect: 'none',
        handle: async () => {
          await gate;
          return {};
        },
      },
    ],
  });
  // Each router sees the other from its next beat on.
  await waitFor(async () => (await world.bus.leases.keys('router')).length === 2, { what: 'two routers' });
  await new Promise((resolve) => setTimeout(resolve, 700));
});
afterAll(async () => {
  release();
  await world.stop();
});

const actorOf = (tenant: string) => ({ tenant, user: 'ada', agent: 'coder' });
const taskOf = (tenant: string) => world.task({ actor: actorOf(tenant) });
const callOf = (tenant: string, taskId: string, tool = 'notes.find') =>
  world.front.call({ actor: actorOf(tenant), taskId, tool, requestKey: uuidv7() });

const many = async (tenant: string, count: number, tool?: string) => {
  const taskId = await taskOf(tenant);
  const views = await Promise.all(Array.from({ length: count }, () => callOf(tenant, taskId, tool)));
  return {
    taskId,
    views,
    limited: views.filter((view) => view.result?.error?.type === 'rate_limited'),
    accepted: views.filter((view) => view.state !== 'refused'),
  };
};

describe('quotas, with two routers', () => {
  it('RT-6: a rate is shared by the routers, and the refusal says how long to wait', async () => {
    const { limited, accepted } = await many('slow', 12);
    expect(accepted.length).toBeGreaterThanOrEqual(1);
    expect(accepted.length).toBeLessThanOrEqual(4);
    expect(limited.length + accepted.length).toBe(12);
    expect(limited[0]).toMatchObject({
      state: 'refused',
      result: { status: 'denied', sideEffect: 'none', error: { retryable: true, layer: 'policy' } },
    });
    const wait = limited[0]?.result?.error?.retryAfterMs ?? 0;
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(4_000);
  });

  it('RT-6: calls in flight are bounded, and room comes back when they end', async () => {
    const { limited, accepted } = await many('narrow', 12);
    expect(accepted.length).toBeGreaterThanOrEqual(2);
    expect(accepted.length).toBeLessThanOrEqual(4);
    expect(limited.length).toBe(12 - accepted.length);
    const taskId = await taskOf('narrow');
    await waitFor(async () => (await callOf('narrow', taskId)).state !== 'refused', { what: 'room for one more' });
  });

  it('RT-6: a tool has a rate and a cap of its own for one tenant', async () => {
    const fast = await many('tooled', 12);
    expect(fast.accepted.length).toBeLessThanOrEqual(4);
    const hanging = await many('tooled', 10, 'notes.hang');
    expect(hanging.accepted.length).toBeGreaterThanOrEqual(1);
    expect(hanging.accepted.length).toBeLessThanOrEqual(2);
    release();
    await waitFor(async () => (await callOf('tooled', hanging.taskId, 'notes.hang')).state !== 'refused', {
      what: 'the end of the calls that hung',
    });
  });

  it('RT-6, OP-2: ten tenants, one flooding: every call of every other is accepted and finishes', async () => {
    const tasks = new Map(
      await Promise.all(TENANTS.map(async (tenant) => [tenant, await taskOf(tenant)] as [string, string])),
    );
    const flooding = new AbortController();
    const counts = { refused: 0, accepted: 0 };
    const flood = async () => {
      while (!flooding.signal.aborted) {
        const view = await callOf(FLOOD, tasks.get(FLOOD) as string);
        counts[view.state === 'refused' ? 'refused' : 'accepted'] += 1;
      }
    };
    const floods = Array.from({ length: 100 }, flood);
    const others = TENANTS.slice(1).map(async (tenant) => {
      const states: string[] = [];
      for (let n = 0; n < 12; n += 1) {
        const view = await callOf(tenant, tasks.get(tenant) as string);
        states.push(view.state === 'refused' ? 'refused' : (await world.ended(view.callId, actorOf(tenant))).state);
      }
      return states;
    });
    const ends = (await Promise.all(others)).flat();
    flooding.abort();
    await Promise.all(floods);
    expect(ends).toEqual(Array(9 * 12).fill('ok'));
    expect(counts.refused).toBeGreaterThan(counts.accepted);
    expect(counts.accepted).toBeGreaterThan(0);
  }, 60_000);

  it('RT-6: a router that is gone leaves its share to the others', async () => {
    await world.routers.pop()?.stop();
    await waitFor(async () => (await world.bus.leases.keys('router')).length === 1, { what: 'one router' });
    await new Promise((resolve) => setTimeout(resolve, 700));
    const { accepted } = await many('fresh', 30);
    expect(accepted).toHaveLength(30);
  });
});
