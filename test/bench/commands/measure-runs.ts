import { spreadOf } from '../call-path/statistics.ts';
import type { CommandFabric } from './command-fabric.ts';
import { Spawner } from './spawner.ts';

export interface RunNumbers {
  /** p50, p95 and p99 in milliseconds, by what was run. */
  readonly rows: readonly { readonly name: string; readonly p50: number; readonly p95: number; readonly p99: number }[];
  /** p50 of the execution in the worker above p50 of the raw spawn, in milliseconds. */
  readonly executionAbove: number;
  /** p50 of the whole call above p50 of the raw spawn, in milliseconds. */
  readonly callAbove: number;
}

/** Rounds of the first command of a workspace, each of which takes a workspace of its own. */
const FIRST_SHARE = 4;

/** The execution of the first command in a workspace: nothing stands for it yet. */
const measureFirst = async (fabric: CommandFabric): Promise<number> => {
  const { taskId } = await fabric.client.createTask({ title: 'first', workspace: { type: 'empty' } });
  return (await fabric.timeCall(taskId, ['true'])).execution;
};

/** A trivial program, one caller: raw, below a bare bubblewrap, and as a call, in turn so that a slow moment counts for all. */
export const measureRuns = async (fabric: CommandFabric, rounds: number): Promise<RunNumbers> => {
  const samples = {
    raw: [] as number[],
    bare: [] as number[],
    execution: [] as number[],
    call: [] as number[],
    first: [] as number[],
  };
  const spawner = new Spawner();
  for (let warm = 0; warm < 8; warm += 1) await fabric.timeCall(fabric.emptyTask, ['true']);
  for (let round = 0; round < rounds; round += 1) {
    samples.raw.push(await spawner.time('raw'));
    samples.bare.push(await spawner.time('bare'));
    const { call, execution } = await fabric.timeCall(fabric.emptyTask, ['true']);
    samples.call.push(call);
    samples.execution.push(execution);
  }
  spawner.stop();
  for (let round = 0; round < rounds / FIRST_SHARE; round += 1) samples.first.push(await measureFirst(fabric));
  const NAMES = {
    raw: 'raw spawn of true',
    bare: 'bubblewrap alone, every namespace',
    execution: 'process.run, in the worker: lock, cgroup, sandbox, look for changes, evidence',
    call: 'process.run, as its caller sees it',
    first: 'process.run, in the worker, the first command of a workspace',
  } as const;
  const rows = (Object.keys(NAMES) as (keyof typeof NAMES)[]).map((key) => ({
    name: NAMES[key],
    ...spreadOf(samples[key]),
  }));
  const [raw, , execution, call] = rows.map(({ p50 }) => p50);
  return {
    rows,
    executionAbove: (execution ?? Number.NaN) - (raw ?? Number.NaN),
    callAbove: (call ?? Number.NaN) - (raw ?? Number.NaN),
  };
};
