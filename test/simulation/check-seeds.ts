import { type Sabotage, simulate } from './simulate.ts';

export interface SeedSummary {
  readonly states: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly events: number;
  /** One line for each seed that broke an invariant; run it alone with `node test/simulation/run-seeds.ts SEED 1`. */
  readonly broken: readonly string[];
}

/** Runs the seeds one after another. */
export const checkSeeds = async (from: number, count: number, sabotage?: Sabotage): Promise<SeedSummary> => {
  const states: Record<string, number> = {};
  const broken: string[] = [];
  let kills = 0;
  let events = 0;
  for (let seed = from; seed < from + count; seed += 1) {
    const report = await simulate(seed, sabotage);
    kills += report.kills;
    events += report.events;
    for (const [state, n] of Object.entries(report.states)) states[state] = (states[state] ?? 0) + n;
    if (report.violations.length > 0) broken.push(`seed ${seed}: ${report.violations.join(' | ')}`);
  }
  return { states, kills, events, broken };
};
