import type { BenchFabric } from './bench-fabric.ts';
import type { FabricTool } from './jobs.ts';
import type { LoadClient } from './load-client.ts';

const READY_MS = 20_000;
const CALLED: readonly FabricTool[] = ['truth.noop', 'truth.append'];

/** Connects the callers, waits until the router knows a worker, and runs both calls until the code is compiled. */
export const openFabric = async (caller: LoadClient, name: string, fabric: BenchFabric, ms: number): Promise<void> => {
  const actors = fabric.point.actors.length;
  await caller.ask({ type: 'open-fabric', fabric: name, point: fabric.point });
  const targets = CALLED.map((tool) => ({ type: 'fabric', fabric: name, tool, actors }) as const);
  const until = performance.now() + READY_MS;
  for (const target of targets) {
    for (;;) {
      const { latencies, failed } = await caller.load(target, { callers: 1, ms: 5_000, calls: 1 });
      if (latencies.length > 0) break;
      if (performance.now() > until) throw new Error(`no call succeeds: ${JSON.stringify(failed)}`);
    }
  }
  for (const target of targets) await caller.load(target, { callers: 8, ms: ms / 2 });
};
