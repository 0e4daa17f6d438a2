import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

const TENANTS = Array.from({ length: 10 }, (_, n) => `team-${n}`);
const CALLS = 40;
const FLOODERS = 64;

interface Caller {
  readonly client: FabricClient;
  readonly taskId: string;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-quotas-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const openCaller = async (cluster: Cluster, tenant: string): Promise<Caller> => {
  const client = cluster.client({ tenant });
  const what = `${tenant} to be known`;
  const task = await waitFor(() => client.createTask({ title: 'flood' }).catch(() => undefined), { what });
  return { client, taskId: task.taskId };
};

const call = ({ client, taskId }: Caller): Promise<CallView> => client.call({ taskId, tool: 'truth.noop', args: {} });

/** One tenant calls through 64 callers while nine call one after the other. */
const flood = async (callers: readonly Caller[]): Promise<{ flooding: CallView[]; calm: CallView[][] }> => {
  const [flooder, ...others] = callers as [Caller, ...Caller[]];
  const stop = new AbortController();
  const flooding: CallView[] = [];
  const floods = Array.from({ length: FLOODERS }, async () => {
    while (!stop.signal.aborted) flooding.push(await call(flooder));
  });
  await waitFor(() => flooding.some(({ state }) => state === 'refused'), { what: 'the flood to be refused' });
  const calm = await Promise.all(
    others.map(async (caller) => {
      const views: CallView[] = [];
      while (views.length < CALLS) views.push(await call(caller));
      return views;
    }),
  );
  stop.abort();
  await Promise.all(floods);
  return { flooding, calm };
};

describe.each([
  ['one router', 1, { perSecond: 60, burst: 80, inFlight: 8 }],
  ['two routers', 2, { perSecond: 60, burst: 160, inFlight: 64 }],
] as const)('a flood of one tenant, with %s', (_, routers, quota) => {
  let cluster: Cluster;
  beforeAll(async () => {
    const file = join(folder, `${routers}.json`);
    // A tenth of the flooder's callers may wait for a worker, whatever the others may.
    writeFileSync(file, JSON.stringify({ default: quota, tenants: { 'team-0': { inFlight: 6, burst: 20 } } }));
    cluster = await Cluster.startWith(['gateway', 'truth']);
    const started = Array.from({ length: routers }, () => cluster.spawn('router', '', { TOOLFABRIC_QUOTAS: file }));
    await Promise.all(started.map(({ ready }) => ready));
  }, 60_000);
  afterAll(() => cluster.stop());

  it('RT-6, OP-2: every call of nine others is accepted and ends ok; what is refused is told when to come again', {
    timeout: 120_000,
  }, async () => {
    const { flooding, calm } = await flood(await Promise.all(TENANTS.map((tenant) => openCaller(cluster, tenant))));
    expect(calm.flat().map(({ state, result }) => (state === 'ok' ? state : result?.error?.message))).toEqual(
      Array(9 * CALLS).fill('ok'),
    );
    const refused = flooding.filter(({ state }) => state === 'refused');
    expect(refused.length).toBeGreaterThan(0);
    for (const { result } of refused) {
      expect(result).toMatchObject({ status: 'denied', sideEffect: 'none', error: { type: 'rate_limited' } });
      expect(result?.error).toMatchObject({ layer: 'policy', retryable: true, retryAfterMs: expect.any(Number) });
      expect(result?.error?.retryAfterMs).toBeGreaterThan(0);
    }
    expect(flooding.filter(({ state }) => state === 'ok').length).toBeGreaterThan(0);
    expect(new Set(flooding.map(({ state }) => state))).toEqual(new Set(['ok', 'refused']));
  });
});
