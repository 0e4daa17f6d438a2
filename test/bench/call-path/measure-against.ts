import { BenchFabric, ROOT } from './bench-fabric.ts';
import type { LoadClient } from './load-client.ts';
import { measureInterleaved, type Row, ratioOf, rowOf } from './measure.ts';
import type { Plan } from './plan.ts';
import type { ScaleRow } from './report.ts';
import { openFabric } from './warm-up.ts';

const TOOLS = ['truth.noop', 'truth.append'] as const;

/** Both calls through the services of this checkout and of another one, in turn: the one fair way to compare them. */
export const measureAgainst = async (
  caller: LoadClient,
  plan: Plan,
  other: string,
): Promise<{ rows: readonly Row[]; scale: readonly ScaleRow[] }> => {
  const checkouts = [
    { name: 'there', root: other },
    { name: 'here', root: ROOT },
  ];
  const fabrics: BenchFabric[] = [];
  try {
    for (const { name, root } of checkouts) {
      const fabric = await BenchFabric.start({ tools: 10, tenants: 1, root });
      fabrics.push(fabric);
      await openFabric(caller, name, fabric, plan.warmUpCalls);
    }
    const rows: Row[] = [];
    const scale: ScaleRow[] = [];
    for (const { callers, rounds, fabricMs: ms } of plan.levels) {
      for (const tool of TOOLS) {
        const subjects = checkouts.map(({ name }, i) => ({
          name: `${tool} ${name}`,
          mode: '',
          target: { type: 'fabric', fabric: name, tool, actors: 1 } as const,
          by: caller,
          pids: { ...fabrics[i]?.pids, caller: caller.pid },
          ms,
        }));
        const slices = await measureInterleaved(subjects, callers, 2 * rounds);
        const of = (name: string) => slices.get(name) ?? [];
        const both = subjects.map((subject) => rowOf(subject, callers, of(subject.name)));
        rows.push(...both);
        const ratios = both.map(({ name, p50, p95 }) => ({
          name: `${name}, ${callers} callers`,
          p50,
          p95,
          ratio: ratioOf(of(name), of(`${tool} there`)),
        }));
        scale.push(...ratios);
      }
    }
    return { rows, scale };
  } finally {
    for (const { name } of checkouts) await caller.ask({ type: 'close-fabric', fabric: name });
    await Promise.all(fabrics.map((fabric) => fabric.stop()));
  }
};
