import type { BenchFabric } from './bench-fabric.ts';
import type { FabricTool, Target } from './jobs.ts';
import type { LoadClient } from './load-client.ts';

const READY_MS = 20_000;

const LONGEST_WARM_UP_MS = 10_000;
const BOTH: readonly FabricTool[] = ['truth.noop', 'truth.append'];

/** Resolves when a call succeeds: then the router knows a worker. */
const firstCall = async (caller: LoadClient, target: Target): Promise<void> => {
  const until = performance.now() + READY_MS;
  for (;;) {
    const { latencies, failed } = await caller.load(target, { callers: 1, ms: 5_000, calls: 1 });
    if (latencies.length > 0) return;
    if (performance.now() > until) throw new Error(`no call succeeds: ${JSON.stringify(failed)}`);
  }
};

/** Connects the callers and calls each tool so often that the services have compiled their code. */
export const openFabric = async (
  caller: LoadClient,
  name: string,
  fabric: BenchFabric,
  calls: number,
  tools: readonly FabricTool[] = BOTH,
): Promise<void> => {
  const actors = fabric.point.actors.length;
  await caller.ask({ type: 'open-fabric', fabric: name, point: fabric.point });
  for (const tool of tools) {
    const target = { type: 'fabric', fabric: name, tool, actors } as const;
    await firstCall(caller, target);
    await caller.load(target, { callers: 8, ms: LONGEST_WARM_UP_MS, calls });
  }
};
