import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BARE_KIND, barePointOf, startOpenServer } from './bare-bus.ts';
import type { BenchFabric } from './bench-fabric.ts';
import type { FabricTool, Target } from './jobs.ts';
import { LoadClient } from './load-client.ts';
import { measureInterleaved, type Row, ratioOf, rowOf, type Slice, type Subject, watchOthers } from './measure.ts';
import { MUSTS, type Must } from './musts.ts';
import type { Level, Plan } from './plan.ts';
import { type CpuMs, cpuBetween, cpuMsOf, cpuOf, type Memory, memoryOf, type Pids } from './process-usage.ts';
import { servicesCpu } from './report.ts';

export interface Numbers {
  readonly rows: readonly Row[];
  readonly others: Readonly<Record<string, number>>;
  readonly idleCpu: CpuMs;
  readonly memory: Readonly<Record<string, Memory>>;
  readonly musts: readonly Must[];
}

const STORED = 'durable: file storage, no fsync a write';
const APART = `${STORED}; services apart, gRPC, signing and policy on`;
const ROUND_TRIP = 'bus request and reply';
const READ = 'fabric, read without a claim';
const WRITE = 'fabric, write with a claim';

const BARE: readonly (readonly [Exclude<Target['type'], 'fabric'>, string, string])[] = [
  ['request', ROUND_TRIP, 'core, nothing stored; two processes'],
  ['publish', 'stream publish', `${STORED}; message id`],
  ['put', 'key-value put', `${STORED}; compare-and-set`],
  ['durable', 'bare durable path', `${STORED}; one process, no gRPC, checks, policy or signature; no claim`],
  ['spawn', 'raw spawn of /bin/true', 'nothing stored'],
];

/** The bare bus with the process that loads it and the one that answers it. */
interface Bare {
  readonly by: LoadClient;
  readonly pids: Pids;
  stop(): Promise<void>;
}

const startBare = async (): Promise<Bare> => {
  const { server, seed } = await startOpenServer([BARE_KIND]);
  const [by, answering] = [new LoadClient(), new LoadClient()];
  const point = barePointOf(server, seed);
  await answering.ask({ type: 'answer-requests', point });
  await by.ask({ type: 'open-bare', point });
  return {
    by,
    pids: { load: by.pid, answering: answering.pid, bus: server.pid },
    async stop() {
      by.stop();
      answering.stop();
      await server.stop();
    },
  };
};

const targetOf = (tool: FabricTool): Target => ({ type: 'fabric', fabric: 'main', tool, actors: 1 });

const subjectsOf = (fabric: BenchFabric, caller: LoadClient, bare: Bare, level: Level): Subject[] => {
  const pids = { ...fabric.pids, caller: caller.pid };
  const ours = { by: caller, pids, ms: level.fabricMs };
  return [
    ...BARE.map(([type, name, mode]) => ({ name, mode, target: { type }, ...bare, ms: level.bareMs })),
    { name: READ, mode: `${APART}; claimless`, target: targetOf('truth.noop'), ...ours },
    { name: WRITE, mode: `${APART}; claimed, effect recorded`, target: targetOf('truth.append'), ...ours },
  ];
};

const idleCpuOf = async (pids: Pids): Promise<CpuMs> => {
  const before = cpuOf(pids);
  const ms = 2_000;
  await sleep(ms);
  const used = Object.entries(cpuBetween(before, cpuOf(pids)));
  return Object.fromEntries(used.map(([name, cpu]) => [name, (cpu * 1000) / ms]));
};

const mustsOf = (rows: readonly Row[], atOne: ReadonlyMap<string, readonly Slice[]>): Must[] => {
  const eight = rows.find(({ name, callers }) => name === READ && callers === 8);
  const failed = rows.flatMap((row) => Object.values(row.failed)).reduce((sum, count) => sum + count, 0);
  return [
    MUSTS.roundTrips(ratioOf(atOne.get(READ) ?? [], atOne.get(ROUND_TRIP) ?? [])),
    MUSTS.callsPerSecond(eight?.callsPerSecond ?? Number.NaN),
    MUSTS.cpuMs(eight === undefined ? Number.NaN : servicesCpu(eight)),
    MUSTS.failed(failed),
  ];
};

/** Everything bare and the two calls through the fabric, in turn, at each number of callers. */
export const measureNumbers = async (fabric: BenchFabric, caller: LoadClient, plan: Plan): Promise<Numbers> => {
  const bare = await startBare();
  try {
    const pids = { ...fabric.pids, caller: caller.pid };
    const idleCpu = await idleCpuOf(pids);
    const rows: Row[] = [];
    const others: Record<string, number> = {};
    let atOne: ReadonlyMap<string, readonly Slice[]> = new Map();
    const own = [...Object.values(pids), ...Object.values(bare.pids), process.pid];
    await warmUpBare(bare, plan.warmUpCalls);
    for (const level of plan.levels) {
      const othersOf = watchOthers(cpus().length, () => own.map(cpuMsOf).reduce((sum, ms) => sum + ms, 0));
      const subjects = subjectsOf(fabric, caller, bare, level);
      const slices = await measureInterleaved(subjects, level.callers, level.rounds);
      if (level.callers === 1) atOne = slices;
      rows.push(...subjects.map((subject) => rowOf(subject, level.callers, slices.get(subject.name) ?? [])));
      others[level.callers] = othersOf();
    }
    const memory = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, memoryOf(pid)]));
    return { rows, others, idleCpu, memory, musts: mustsOf(rows, atOne) };
  } finally {
    await bare.stop();
  }
};

const WARM_UP_MS = 1_000;

const warmUpBare = async ({ by }: Bare, calls: number): Promise<void> => {
  for (const [type] of BARE) await by.load({ type }, { callers: 8, ms: WARM_UP_MS, calls });
};
