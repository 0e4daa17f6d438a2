import { setTimeout as sleep } from 'node:timers/promises';
import { isAnswered } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { armTracker, disarmTracker } from '../peers/tracker/src/client.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { Random } from '../simulation/scheduler.ts';
import { type Attempt, type Comment, Planner, runCaller } from './governed/act.ts';
import { compareTraces } from './governed/compare-traces.ts';
import { type Judged, judge, readAll } from './governed/judge.ts';
import { type Answered, answerAll, type Edited } from './governed/people.ts';
import { GovernedWorld, KILLED } from './governed/world.ts';

const CALLS = Number(process.env['TOOLFABRIC_LOAD_CALLS'] ?? 5_000);
const CALLERS_EACH = 8;
const LONGEST_LOAD_MS = 300_000;
/** After them the load goes on in peace. */
const MOST_KILLS = 32;
const SEED = Number(process.env['TOOLFABRIC_LOAD_SEED'] ?? Date.now() % 1_000_000);
const random = new Random(SEED);
const FAULTS = ['drop_receipt', 'drop_receipt', 'error_after', 'drop_request', 'error_before', 'delay'] as const;

let world: GovernedWorld;
beforeAll(async () => {
  world = await GovernedWorld.start(random);
}, 120_000);
afterAll(() => world?.stop());

const attempts: Attempt[] = [];
const answers: Answered[] = [];
const edits: Edited[] = [];

/** Now and then a process is killed, the tracker fails, and the policy is another. */
const disturb = async (stop: AbortSignal): Promise<void> => {
  while (!stop.aborted && world.killed < MOST_KILLS) {
    await sleep(random.between(100, 600));
    if (random.chance(0.1)) world.changePolicy();
    const arm = { mode: random.pick(FAULTS), times: 1 + random.int(3), delayMs: 300 };
    await armTracker(world.cluster.trackerAddress, arm).catch(() => {});
    await world.kill(random.chance(0.4) ? 2 : 1);
  }
  await disarmTracker(world.cluster.trackerAddress);
};

const load = async (): Promise<void> => {
  const until = performance.now() + LONGEST_LOAD_MS;
  const calling = { random, attempts, most: CALLS, mayGoOn: () => performance.now() < until };
  const callers = world.agents.flatMap((agent) => {
    const planner = new Planner(random, `${agent.actor.tenant}-${agent.actor.agent}`);
    return Array.from({ length: CALLERS_EACH }, () => runCaller(agent, planner, calling));
  });
  await Promise.all(callers);
};

/** The arguments of comments, as far as the attempts were read. */
const comments = new Map<string, Comment>();
let known = 0;
const argsOf = (callId: string): Comment | undefined => {
  for (; known < attempts.length; known += 1) {
    const { callId: id, tool, args } = attempts[known] as Attempt;
    if (tool === 'issue.comment') comments.set(id, args as unknown as Comment);
  }
  return comments.get(callId);
};

const countBy = <T>(items: readonly T[], name: (item: T) => string): string => {
  const counts: Record<string, number> = {};
  for (const item of items) counts[name(item)] = (counts[name(item)] ?? 0) + 1;
  return JSON.stringify(counts);
};

const LAWFUL = ['declared dead', 'could not renew the life sign', 'no bus server answers'];

/**
 * Who ends by itself says why: it was declared dead or could not renew its sign (protocol 10), or found no bus when it
 * was started while that was down.
 */
const isLawfulEnd = (line: string): boolean => LAWFUL.some((reason) => line.includes(reason));

const stateOf = ({ call, attempt }: Judged): string =>
  call?.state ?? `refused: ${attempt?.view?.result?.error?.type ?? 'never'}`;

const say = (judged: readonly Judged[], began: number): void =>
  console.log(
    [
      `seed ${SEED}: ${attempts.length} calls in ${Math.round((performance.now() - began) / 1_000)} s`,
      `states ${countBy(judged, stateOf)}`,
      `comments ${countBy(
        judged.filter(({ tool }) => tool === 'issue.comment'),
        stateOf,
      )}, written ${commentsIn(world.cluster.trackerFile).length}`,
      `approvals ${countBy(judged, ({ approval }) => approval?.state ?? 'none')}, edits ${edits.length}`,
      `kills ${JSON.stringify(world.kills)}`,
    ].join('\n'),
  );

describe('RE-1, RE-2, RE-3: agents of three tenants under policy, budgets and approvals, while every process is killed at random', () => {
  it(`L1 to L6 hold in ledger, truth and trace (seed ${SEED})`, { timeout: 540_000 }, async () => {
    const began = performance.now();
    const [loaded, over] = [new AbortController(), new AbortController()];
    const answering = { random, answers, edits, argsOf, stop: over.signal };
    const people = world.people.map((one) => answerAll(one, answering));
    const disturbing = disturb(loaded.signal);
    await load();
    loaded.abort();
    await disturbing;
    console.log(`load ended after ${Math.round((performance.now() - began) / 1_000)} s`);
    const open = () => world.cluster.ledger.open.keys('open');
    await expect.poll(open, { timeout: 90_000, interval: 500 }).toEqual([]);
    over.abort();
    await Promise.all(people);

    const judged = await readAll(world, attempts, edits);
    say(judged, began);
    expect(await judge(world, judged, answers)).toEqual([]);
    const traced = () => compareTraces(world, judged).catch((thrown: Error) => [thrown.message]);
    await expect.poll(traced, { timeout: 60_000, interval: 1_000 }).toEqual([]);
    // L6: nothing is left in a queue once everything is settled.
    let cleared = 0;
    for (const { tenant, callId, epoch } of await world.queued()) {
      // A question about a call is asked under a number of its own.
      const call = await world.call(tenant, callId.replace(/\.r\d+$/, ''));
      expect({
        callId,
        epoch,
        isOver: call !== undefined && isAnswered(call.state) && epoch <= call.epoch,
      }).toMatchObject({
        isOver: true,
      });
    }
    const queued = async () => {
      cleared += await world.tidy();
      return [...(await world.cluster.ledger.queued(world.cluster.kinds)).keys()];
    };
    await expect.poll(queued, { timeout: 30_000, interval: 1_000 }).toEqual([]);
    console.log(`back after they were acknowledged: ${cleared}; ended by themselves: ${world.ended.join(' | ')}`);
    expect(world.ended.filter((line) => !isLawfulEnd(line))).toEqual([]);
    console.log(`ended after ${Math.round((performance.now() - began) / 1_000)} s`);

    expect(attempts).toHaveLength(CALLS);
    expect(judged.filter(({ call }) => call?.state === 'ok').length).toBeGreaterThan(CALLS / 2);
    expect(commentsIn(world.cluster.trackerFile).length).toBeGreaterThan(0);
    expect(Object.keys(world.kills).sort()).toEqual(KILLED);
  });
});
