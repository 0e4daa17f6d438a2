import { isDeepStrictEqual } from 'node:util';
import type { FabricClient } from '@toolfabric/client';
import { ANSWERED, type CallRecord, type CallView } from '@toolfabric/contract';
import { FabricError, uuidv7 } from '@toolfabric/kernel';
import type { SpawnedService } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../simulation/scheduler.ts';
import { type AppName, Cluster } from '../support/cluster.ts';

const CALLERS = 64;
const LOAD_MS = 60_000;
const SEED = Number(process.env['TOOLFABRIC_LOAD_SEED'] ?? Date.now() % 1_000_000);

let cluster: Cluster;
let client: FabricClient;
let taskId: string;
const random = new Random(SEED);
const pools: Record<'router' | 'gateway' | 'truth', SpawnedService[]> = { router: [], gateway: [], truth: [] };

const spawn = async (app: keyof typeof pools & AppName) => {
  const service = cluster.spawn(app);
  pools[app].push(service);
  await service.ready;
};

beforeAll(async () => {
  cluster = await Cluster.startWith([]);
  await Promise.all([spawn('router'), spawn('router'), spawn('truth'), spawn('truth'), spawn('gateway')]);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'load' })).taskId;
}, 60_000);
afterAll(() => cluster.stop());

interface Attempted {
  readonly identity: string;
  readonly tool: string;
  view?: CallView;
  refusal?: string;
}

/** A final state that was told once is recorded, with the same result; an `unknown` may have been found out since. */
const isHeard = ({ state, result }: CallView, call: CallRecord): boolean => {
  if (state === 'refused') return false;
  const isLast = ANSWERED.has(state) && state !== 'unknown';
  return !isLast || (state === call.state && isDeepStrictEqual(result, call.result));
};

/** One action until it is answered: the same key for every retry, however often the fabric is away. */
const act = async (attempted: Attempted, until: number): Promise<void> => {
  const requestKey = uuidv7();
  const args = attempted.tool === 'truth.noop' ? {} : { identity: attempted.identity };
  while (attempted.view === undefined || ['queued', 'running', 'accepted', 'refused'].includes(attempted.view.state)) {
    try {
      attempted.view = await client.call(
        { taskId, tool: attempted.tool, args, requestKey, deadlineMs: 45_000 },
        { waitMs: 20_000, timeoutMs: 30_000 },
      );
      if (attempted.view.state === 'refused' && attempted.view.result?.error?.retryable !== true) return;
    } catch (thrown) {
      if (!(thrown instanceof FabricError)) throw thrown;
      attempted.refusal = thrown.type;
    }
    if (performance.now() > until + 60_000) return;
  }
};

const caller = async (name: number, until: number, log: Attempted[]): Promise<void> => {
  for (let n = 0; performance.now() < until; n += 1) {
    const tool = n % 4 === 3 ? 'truth.append_blind' : n % 2 === 0 ? 'truth.append' : 'truth.noop';
    const attempted: Attempted = { identity: `${name}-${n}`, tool };
    log.push(attempted);
    await act(attempted, until);
  }
};

/** Kills one service after another, the bus server among them, and brings each back. */
const killer = async (until: number): Promise<Record<string, number>> => {
  const kills: Record<string, number> = {};
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, random.between(700, 2_500)));
    const victim = random.pick(['router', 'router', 'truth', 'truth', 'gateway', 'nats'] as const);
    kills[victim] = (kills[victim] ?? 0) + 1;
    if (victim === 'nats') {
      await cluster.nats.kill();
      await cluster.nats.restart();
      continue;
    }
    const service = pools[victim].splice(random.int(pools[victim].length), 1)[0];
    service?.kill('SIGKILL');
    await service?.exited;
    await spawn(victim).catch(() => spawn(victim));
  }
  return kills;
};

describe('RE-3: 64 callers for a minute while every service is killed at random', () => {
  it(`nothing accepted is lost, nothing happens twice (seed ${SEED})`, { timeout: 240_000 }, async () => {
    const until = performance.now() + LOAD_MS;
    const log: Attempted[] = [];
    const killing = killer(until);
    await Promise.all(Array.from({ length: CALLERS }, (_, name) => caller(name, until, log)));
    const kills = await killing;
    await expect.poll(() => cluster.ledger.open.keys('open'), { timeout: 60_000, interval: 500 }).toEqual([]);

    const states: Record<string, number> = {};
    const wrong: string[] = [];
    const effects = new Map<string, number>();
    for (const { identity } of cluster.truth()) effects.set(identity, (effects.get(identity) ?? 0) + 1);
    for (const { identity, tool, view } of log) {
      const call = view && (await cluster.call(view.callId));
      const state = call?.state ?? `no record (${view?.state ?? 'never answered'})`;
      states[state] = (states[state] ?? 0) + 1;
      const happened = effects.get(identity) ?? 0;
      if (happened > 1) wrong.push(`L1: ${identity} happened ${happened} times`);
      if (call === undefined || ['accepted', 'queued', 'joined'].includes(call.state))
        wrong.push(`L2: ${identity} is ${state}`);
      if (view && call && !isHeard(view, call))
        wrong.push(`L2: the caller of ${identity} heard ${view.state}, and ${call.state} is recorded`);
      if (tool === 'truth.noop') continue;
      if (call?.state === 'ok' && happened !== 1) wrong.push(`L3: ${identity} is ok and happened ${happened} times`);
      if (call !== undefined && call.state !== 'ok' && call.state !== 'unknown' && happened > 0)
        wrong.push(`L3: ${identity} is ${call.state} and happened`);
    }
    console.log(`seed ${SEED}: ${log.length} calls, ${JSON.stringify(states)}, kills ${JSON.stringify(kills)}`);
    expect(wrong).toEqual([]);
    expect(states['ok']).toBeGreaterThan(log.length / 2);
    expect(Object.keys(kills).length).toBeGreaterThan(2);
  });
});
