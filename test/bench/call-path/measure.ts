import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from './jobs.ts';
import type { LoadClient } from './load-client.ts';
import { addCpu, busyMsOfMachine, type CpuMs, cpuBetween, cpuOf, type Pids } from './process-usage.ts';
import { median, type Spread, spreadOf } from './statistics.ts';

/** One thing that is measured, and the processes whose CPU time counts. */
export interface Subject {
  readonly name: string;
  /** What this number stands for: durable or not, together or apart, with or without a claim. */
  readonly mode: string;
  readonly target: Target;
  readonly by: LoadClient;
  readonly pids: Pids;
  /** Milliseconds of one slice. */
  readonly ms: number;
}

export interface Slice {
  readonly latencies: readonly number[];
  readonly elapsedMs: number;
  readonly p50: number;
  readonly callsPerSecond: number;
  readonly cpuMs: CpuMs;
  readonly failed: Readonly<Record<string, number>>;
}

/** What a call leaves to do after its answer is done within this time, and counts to it. */
const AFTER_MS = 25;

export const measureSlice = async ({ target, by, pids, ms }: Subject, callers: number): Promise<Slice> => {
  const before = cpuOf(pids);
  const result = await by.load(target, { callers, ms });
  await sleep(AFTER_MS);
  const { latencies, elapsedMs, failed } = result;
  return {
    latencies,
    elapsedMs,
    failed,
    p50: spreadOf(latencies).p50,
    callsPerSecond: (latencies.length / elapsedMs) * 1000,
    cpuMs: cpuBetween(before, cpuOf(pids)),
  };
};

/**
 * Slices of every subject in turn, `rounds` times, each second round in the opposite order, so that a drift of the
 * machine meets all of them alike.
 */
export const measureInterleaved = async (
  subjects: readonly Subject[],
  callers: number,
  rounds: number,
): Promise<ReadonlyMap<string, readonly Slice[]>> => {
  const slices = new Map<string, Slice[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed())
      slices.get(subject.name)?.push(await measureSlice(subject, callers));
  }
  return slices;
};

export interface Row extends Spread {
  readonly name: string;
  readonly mode: string;
  readonly callers: number;
  readonly calls: number;
  /** Median of the slices. */
  readonly callsPerSecond: number;
  /** CPU milliseconds a call, by process. */
  readonly cpuMsPerCall: CpuMs;
  readonly failed: Readonly<Record<string, number>>;
}

export const rowOf = (
  { name, mode }: Pick<Subject, 'name' | 'mode'>,
  callers: number,
  slices: readonly Slice[],
): Row => {
  const latencies = slices.flatMap((slice) => slice.latencies);
  const cpu = slices.map(({ cpuMs }) => cpuMs).reduce(addCpu, {});
  const perCall = Object.entries(cpu).map(([process, ms]) => [process, ms / latencies.length] as const);
  return {
    name,
    mode,
    callers,
    calls: latencies.length,
    ...spreadOf(latencies),
    callsPerSecond: median(slices.map(({ callsPerSecond }) => callsPerSecond)),
    cpuMsPerCall: Object.fromEntries(perCall),
    failed: slices.map(({ failed }) => failed).reduce(addCpu, {}),
  };
};

/** Median over the rounds of how many times slower `a` was than `b` in the same round. */
export const ratioOf = (a: readonly Slice[], b: readonly Slice[]): number =>
  median(a.map((slice, round) => slice.p50 / (b[round]?.p50 ?? Number.NaN)));

/** Starts to watch what part of the machine others use; the function gives it as a share of all cores. */
export const watchOthers = (cores: number, ownCpu: () => number): (() => number) => {
  const began = { at: performance.now(), busy: busyMsOfMachine(), own: ownCpu() };
  return () => {
    const others = busyMsOfMachine() - began.busy - (ownCpu() - began.own);
    return Math.max(0, others / ((performance.now() - began.at) * cores));
  };
};
