import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchFabric } from '../call-path/bench-fabric.ts';
import { LoadClient } from '../call-path/load-client.ts';
import { measureInterleaved, type Row, ratioOf, rowOf } from '../call-path/measure.ts';
import { openFabric } from '../call-path/warm-up.ts';
import { aboutMany } from './policies.ts';
import { seedPending } from './seed-pending.ts';

export interface PathNumbers {
  readonly rows: readonly Pick<Row, 'name' | 'p50' | 'p95'>[];
  /** p50 with full governance over p50 with the rules that come with the fabric alone. */
  readonly governed: number;
  /** p50 while approvals wait over p50 without. */
  readonly waiting: number;
  readonly pending: number;
}

const PLAIN = 'the rules that come with the fabric';
const GOVERNED = '100 policies, budget, constraints and quotas';
const TASK = {
  budget: { rounds: 10_000, wallMs: 86_400_000, spend: 1_000_000_000 },
  constraints: { writable: ['src/**'], forbiddenHosts: ['*.example.com'], confirm: ['git.push'] },
};
const QUOTAS = { default: { perSecond: 100_000, burst: 100_000, inFlight: 1_000 } };

const writeSettings = (folder: string): Record<string, string> => {
  const tenant = join(folder, 'policy/tenants/tenant-0');
  mkdirSync(tenant, { recursive: true });
  writeFileSync(join(tenant, 'rules.cedar'), aboutMany(100, 'truth.noop'));
  writeFileSync(join(folder, 'quotas.json'), JSON.stringify(QUOTAS));
  return { TOOLFABRIC_POLICY_DIR: join(folder, 'policy'), TOOLFABRIC_QUOTAS: join(folder, 'quotas.json') };
};

/** The same claimless read at one caller through three fabrics in turn. */
export const measurePath = async (rounds: number, pending: number): Promise<PathNumbers> => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-governance-'));
  const caller = new LoadClient();
  const fabrics = new Map<string, BenchFabric>();
  const waitingName = `the same, while ${pending} approvals wait`;
  try {
    const env = writeSettings(folder);
    // As many tools as the policies name, and the built-in ones.
    const common = { tools: 130, tenants: 1 };
    fabrics.set(PLAIN, await BenchFabric.start(common));
    fabrics.set(GOVERNED, await BenchFabric.start({ ...common, env, task: TASK }));
    const waiting = await BenchFabric.start(common);
    fabrics.set(waitingName, waiting);
    await seedPending(waiting, pending);
    for (const [name, fabric] of fabrics) await openFabric(caller, name, fabric, 2_000, ['truth.noop']);
    const subjects = [...fabrics].map(([name, { pids }]) => ({
      name,
      mode: '',
      target: { type: 'fabric', fabric: name, tool: 'truth.noop', actors: 1 } as const,
      by: caller,
      pids,
      ms: 1_000,
    }));
    const slices = await measureInterleaved(subjects, 1, rounds);
    const of = (name: string) => slices.get(name) ?? [];
    const rows = subjects.map((subject) => rowOf(subject, 1, of(subject.name)));
    return {
      rows: rows.map(({ name, p50, p95 }) => ({ name, p50, p95 })),
      governed: ratioOf(of(GOVERNED), of(PLAIN)),
      waiting: ratioOf(of(waitingName), of(PLAIN)),
      pending,
    };
  } finally {
    caller.stop();
    await Promise.all([...fabrics.values()].map((fabric) => fabric.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
};
