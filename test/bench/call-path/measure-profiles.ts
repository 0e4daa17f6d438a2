import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchFabric, type ServiceName } from './bench-fabric.ts';
import { machineNow } from './jobs.ts';
import type { LoadClient } from './load-client.ts';
import { type Plan, SCALE } from './plan.ts';
import { type CpuProfile, summarizeProfile } from './profile-summary.ts';
import type { Report } from './report.ts';
import { openFabric } from './warm-up.ts';

const PROFILED: readonly ServiceName[] = ['gateway', 'router', 'worker'];

/** What the CPU time of each service goes into for claimless reads at 8 callers, in a fabric of its own. */
export const measureProfiles = async (caller: LoadClient, plan: Plan): Promise<Report['profiles']> => {
  const directory = mkdtempSync(join(tmpdir(), 'toolfabric-profiles-'));
  const fabric = await BenchFabric.start({ tools: SCALE.fewTools, tenants: 1, profiles: directory });
  try {
    await openFabric(caller, 'profiled', fabric, plan.warmUpCalls, ['truth.noop']);
    const from = machineNow();
    const target = { type: 'fabric', fabric: 'profiled', tool: 'truth.noop', actors: 1 } as const;
    const { latencies } = await caller.load(target, { callers: 8, ms: plan.profileMs });
    const to = machineNow();
    await caller.ask({ type: 'close-fabric', fabric: 'profiled' });
    await fabric.drain();
    const summaryOf = (name: ServiceName) => {
      const profile = JSON.parse(readFileSync(join(directory, `${name}.cpuprofile`), 'utf8')) as CpuProfile;
      return { ...summarizeProfile(profile, from, to), calls: latencies.length };
    };
    return Object.fromEntries(PROFILED.map((name) => [name, summaryOf(name)]));
  } finally {
    await fabric.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};
