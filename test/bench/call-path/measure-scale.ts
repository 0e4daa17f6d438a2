import { BenchFabric } from './bench-fabric.ts';
import type { LoadClient } from './load-client.ts';
import { measureInterleaved, ratioOf, rowOf } from './measure.ts';
import { MUSTS, type Must } from './musts.ts';
import { type Plan, SCALE } from './plan.ts';
import type { ScaleRow } from './report.ts';
import { openFabric } from './warm-up.ts';

const { fewTools, manyTools, fewTenants, manyTenants } = SCALE;
const FEW = 'few';

/** The smallest fabric, and for each dimension one that is large in it alone. */
const CONDITIONS = [
  { name: FEW, tools: fewTools, tenants: fewTenants },
  { name: 'tools', tools: manyTools, tenants: fewTenants },
  { name: 'tenants', tools: fewTools, tenants: manyTenants },
] as const;

/**
 * The same call in three fabrics that run at the same time, in turn: whatever the machine does meets all of them.
 * Calls go round all the tenants of their fabric.
 */
export const measureScale = async (
  caller: LoadClient,
  plan: Plan,
): Promise<{ scale: readonly ScaleRow[]; musts: readonly Must[] }> => {
  const fabrics: BenchFabric[] = [];
  try {
    for (const { tools, tenants } of CONDITIONS) fabrics.push(await BenchFabric.start({ tools, tenants }));
    for (const [i, { name }] of CONDITIONS.entries()) {
      const fabric = fabrics[i];
      if (fabric) await openFabric(caller, name, fabric, plan.warmUpCalls, ['truth.noop']);
    }
    const subjects = CONDITIONS.map(({ name, tools, tenants }) => ({
      name,
      mode: `${tools.toLocaleString('en')} tools, ${tenants} ${tenants === 1 ? 'tenant' : 'tenants'}`,
      target: { type: 'fabric', fabric: name, tool: 'truth.noop', actors: tenants } as const,
      by: caller,
      pids: {},
      ms: plan.scale.sliceMs,
    }));
    const slices = await measureInterleaved(subjects, 1, plan.scale.rounds);
    const of = (name: string) => slices.get(name) ?? [];
    const scale = subjects.map((subject) => {
      const { p50, p95 } = rowOf(subject, 1, of(subject.name));
      return { name: subject.mode, p50, p95, ratio: ratioOf(of(subject.name), of(FEW)) };
    });
    const musts = [MUSTS.tools(ratioOf(of('tools'), of(FEW))), MUSTS.tenants(ratioOf(of('tenants'), of(FEW)))];
    return { scale, musts };
  } finally {
    for (const { name } of CONDITIONS) await caller.ask({ type: 'close-fabric', fabric: name });
    await Promise.all(fabrics.map((fabric) => fabric.stop()));
  }
};
