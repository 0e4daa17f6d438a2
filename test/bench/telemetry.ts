/**
 * What watching costs: the same calls through three fabrics in turn, one without spans, one with a span for every step
 * of every call, and one that records redacted arguments and results as well. Ends with 1 when tracing costs too much.
 */
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BenchFabric } from './call-path/bench-fabric.ts';
import { LoadClient } from './call-path/load-client.ts';
import { measureInterleaved, type Row, ratioOf, rowOf, watchOthers } from './call-path/measure.ts';
import { cpuMsOf } from './call-path/process-usage.ts';
import { openFabric } from './call-path/warm-up.ts';

const VARIANTS = [
  { name: 'no spans', env: { TOOLFABRIC_TRACE_SAMPLING: '0' }, payloads: false },
  { name: 'spans', env: {}, payloads: false },
  { name: 'spans and payloads', env: {}, payloads: true },
] as const;
const TOOLS = ['truth.noop', 'truth.append'] as const;
const LEVELS = [1, 8] as const;
/** p50 with spans over p50 without, and CPU milliseconds a call of all services and the bus. */
const MOST = { ratio: 1.05, cpuMs: 2 };

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    'no-assert': { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});
const [rounds, ms, warmUp] = values.quick ? [6, 700, 1_000] : [16, 1_200, 3_000];

const cpuOfServices = ({ cpuMsPerCall }: Row): number =>
  Object.entries(cpuMsPerCall)
    .filter(([name]) => name !== 'caller')
    .reduce((sum, [, cpu]) => sum + cpu, 0);

const caller = new LoadClient();
const fabrics: BenchFabric[] = [];
const missed: string[] = [];
try {
  for (const { name, env, payloads } of VARIANTS) {
    const profiles = values.profile && `${values.profile}/${name.replaceAll(' ', '-')}`;
    if (profiles) mkdirSync(profiles, { recursive: true });
    const fabric = await BenchFabric.start({ tools: 10, tenants: 1, env, payloads, ...(profiles ? { profiles } : {}) });
    fabrics.push(fabric);
    await openFabric(caller, name, fabric, warmUp);
  }
  console.log(
    '| call | callers | | p50 ms | p95 ms | p50 to no spans | CPU ms a call | of it gateway, router, worker, bus |',
  );
  console.log('|---|---|---|---:|---:|---:|---:|---|');
  for (const callers of LEVELS)
    for (const tool of TOOLS) {
      const pids = fabrics.flatMap((fabric) => Object.values(fabric.pids));
      const others = watchOthers(2, () =>
        [...pids, caller.pid, process.pid].reduce((sum, pid) => sum + cpuMsOf(pid), 0),
      );
      const subjects = VARIANTS.map(({ name }, i) => ({
        name,
        mode: '',
        target: { type: 'fabric', fabric: name, tool, actors: 1 } as const,
        by: caller,
        pids: { ...fabrics[i]?.pids, caller: caller.pid },
        ms,
      }));
      const slices = await measureInterleaved(subjects, callers, rounds);
      const of = (name: string) => slices.get(name) ?? [];
      for (const subject of subjects) {
        const row = rowOf(subject, callers, of(subject.name));
        const ratio = ratioOf(of(subject.name), of(VARIANTS[0].name));
        const cpu = cpuOfServices(row);
        const parts = ['gateway', 'router', 'worker', 'nats-server'].map((part) =>
          (row.cpuMsPerCall[part] ?? 0).toFixed(2),
        );
        console.log(
          `| ${tool} | ${callers} | ${subject.name} | ${row.p50.toFixed(2)} | ${row.p95.toFixed(2)} | ${ratio.toFixed(3)} | ${cpu.toFixed(2)} | ${parts.join(', ')} |`,
        );
        const failed = Object.values(row.failed).reduce((sum, count) => sum + count, 0);
        if (failed > 0) missed.push(`${failed} calls did not end ok`);
        if (callers === 1 && subject.name === 'spans' && ratio > MOST.ratio)
          missed.push(`${tool}: ${ratio.toFixed(3)}`);
        if (callers === 8 && tool === 'truth.noop' && cpu > MOST.cpuMs) missed.push(`CPU ${cpu.toFixed(2)} ms a call`);
      }
      console.error(`others used ${(100 * others()).toFixed(0)} % of the machine`);
    }
} finally {
  for (const { name } of VARIANTS.slice(0, fabrics.length)) await caller.ask({ type: 'close-fabric', fabric: name });
  await Promise.all(fabrics.map((fabric) => (values.profile ? fabric.drain() : fabric.stop())));
  caller.stop();
}
for (const what of missed) console.error(`missed: ${what}`);
if (missed.length > 0 && !values['no-assert']) process.exitCode = 1;
