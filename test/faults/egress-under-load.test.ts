import { readdirSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FabricClient } from '@toolfabric/client';
import type { CallRecord, ToolContract } from '@toolfabric/contract';
import type { SpawnedService } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trackerContracts } from '../peers/tracker/src/interface.ts';
import { commentsIn, readTrackerLog } from '../peers/tracker/src/truth-log.ts';
import { Cluster } from '../support/cluster.ts';

const CANARY = 'canary-of-the-tracker-7d1c';
const HANDLE = 'user:tracker';
const WRITES = 200;
const KILLS = 3;
const WINDOW_MS = 8_000;

let cluster: Cluster;
let client: FabricClient;
let taskId: string;
let egress: SpawnedService;
/** What services wrote that are gone or stand. */
const services: SpawnedService[] = [];

const ruled = (contract: ToolContract): ToolContract => {
  const { execution, governance } = contract;
  const block = execution.egress;
  const reconcile = governance.reconcile && { ...governance.reconcile, fence: 'egress' as const, window_ms: WINDOW_MS };
  return {
    ...contract,
    execution: {
      ...execution,
      pools: ['web'],
      ...(block && { egress: { ...block, rules: block.rules.map((rule) => ({ ...rule, credential: HANDLE })) } }),
    },
    governance: { ...governance, ...(reconcile && { reconcile }) },
  };
};

const start = async (app: 'egress' | 'router' | 'web' | 'gateway' | 'tracker'): Promise<SpawnedService> => {
  const origins = `http://${cluster.trackerAddress}=127.0.0.0/8`;
  const service = cluster.spawn(app, '', app === 'egress' ? { TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS: origins } : {});
  await service.ready;
  services.push(service);
  return service;
};

beforeAll(async () => {
  cluster = await Cluster.start({ kinds: ['web'] });
  const asked = ['issue.comment', 'issue.comments', 'issue.read'];
  await cluster.publish(
    trackerContracts(cluster.trackerAddress)
      .filter(({ name }) => asked.includes(name))
      .map(ruled),
  );
  egress = await start('egress');
  await Promise.all((['router', 'gateway', 'tracker', 'web'] as const).map(start));
  client = cluster.client();
  taskId = (await client.createTask({ title: 'load' })).taskId;
  await client.addCredential({
    handle: HANDLE,
    account: 'ada at the tracker',
    audience: { hosts: ['127.0.0.1'] },
    inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
    kind: 'static',
    secret: { secret: CANARY },
  });
});
afterAll(() => cluster.stop());

const keyOf = (n: number) => `load-${n}`;
/** One write from its proposal to the grant. */
const write = async (n: number): Promise<string> => {
  const args = { number: 1 + (n % 50), body: 'Both pass.', key: keyOf(n) };
  const { callId } = await client.startCall({ taskId, tool: 'issue.comment', args, deadlineMs: 60_000 });
  await cluster.grant(callId);
  return callId;
};

/** Writes with a token that is of no permit, as a process beside the worker could. */
const intrude = (key: string, headers: Record<string, string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const path = `http://${cluster.trackerAddress}/issues/7/comments`;
    const socketPath = cluster.egress.socket;
    const asked = request({ socketPath, path, method: 'POST', headers, agent: false }, (answer) => {
      answer.resume();
      answer.once('close', () => resolve(String(answer.headers['toolfabric-egress'])));
    });
    asked.once('error', reject).end(JSON.stringify({ body: 'x', key }));
  });
const withToken = (token: string) => ({
  'proxy-authorization': `Basic ${Buffer.from(`call:${token}`).toString('base64')}`,
});

/** Where it stays: what is over, and what only a person can tell. */
const isOver = ({ state, left }: CallRecord): boolean =>
  ['ok', 'error', 'expired', 'cancelled', 'dead_letter'].includes(state) || (state === 'unknown' && left === true);

const endOf = async (callId: string): Promise<CallRecord> => {
  for (let tries = 0; tries < 300; tries += 1) {
    const call = await cluster.call(callId);
    if (call !== undefined && isOver(call)) return call;
    await sleep(200);
  }
  throw new Error(`${callId} does not end: ${JSON.stringify(await cluster.call(callId))}`);
};

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('protocol 7: the egress is killed and comes back while calls go through it', () => {
  it('each call ends as the ledger says, and nothing reached the tracker without a permit', async () => {
    const writes: Promise<string>[] = [];
    const refusals: string[] = [];
    for (let wave = 0; wave <= KILLS; wave += 1) {
      const share = WRITES / (KILLS + 1);
      for (let n = 0; n < share; n += 1) writes.push(write(wave * share + n));
      if (wave === KILLS) break;
      // In the middle of the wave: some of it has been written, and some has not.
      const before = commentsIn(cluster.trackerFile).length;
      await expect
        .poll(() => commentsIn(cluster.trackerFile).length, { timeout: 30_000, interval: 10 })
        .toBeGreaterThan(before + 3);
      egress.kill('SIGKILL');
      await egress.exited;
      egress = await start('egress');
      refusals.push(
        await intrude(`intruder-${wave}`, withToken('x'.repeat(43))),
        await intrude(`intruder-${wave}`, {}),
      );
    }
    const written = await Promise.all((await Promise.all(writes)).map(endOf));

    expect(refusals).toEqual(refusals.map(() => 'permit_unknown'));
    const comments = commentsIn(cluster.trackerFile);
    const times = (key: string) => comments.filter((comment) => comment.key === key).length;
    const told = written.map(({ state, result, epoch }, n) => ({
      state,
      side: result?.sideEffect,
      epoch,
      times: times(keyOf(n)),
    }));
    const types = new Set(written.flatMap(({ result }) => result?.error?.type ?? []));
    expect([...types].filter((type) => type !== 'egress_unavailable')).toEqual([]);
    const wrong = told.filter(({ state, side, times: count }) => {
      if (state === 'ok') return side !== 'confirmed' || count !== 1;
      if (state === 'unknown') return side !== 'possible' || count > 1;
      return side !== 'none' || count !== 0;
    });
    expect(wrong).toEqual([]);
    expect(told.filter(({ state }) => state === 'ok').length).toBeGreaterThan(WRITES / (KILLS + 1));
    // Whose leave it was: every comment is of a call that had one, and every request is one that a permit names.
    const operations = new Set(written.map(({ operation }) => operation));
    expect(comments.filter(({ idempotencyKey }) => !operations.has(idempotencyKey ?? ''))).toEqual([]);
    expect(written.every((call) => call.egress !== undefined)).toBe(true);
    const paths = readTrackerLog(cluster.trackerFile).flatMap((line) => (line.event === 'request' ? [line.path] : []));
    expect(paths.filter((path) => !/^\/issues\/\d+(\/comments)?$/.test(path))).toEqual([]);
  });

  it('PO-11: the secret that went out with each of them stands nowhere', () => {
    const places = filesIn(cluster.directory).filter((file) => statSync(file).size < 64 * 1_048_576);
    expect(places.length).toBeGreaterThan(5);
    expect(places.filter((file) => readFileSync(file).includes(CANARY))).toEqual([]);
    expect(services.flatMap(({ log }) => log).filter((line) => line.includes(CANARY))).toEqual([]);
  });

  it('the next call goes out as if nothing had been', async () => {
    const last = await endOf(await write(9_999));
    expect(last).toMatchObject({ state: 'ok', epoch: 1, result: { sideEffect: 'confirmed' } });
  });
});
