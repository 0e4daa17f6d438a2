import { simulate } from './simulate.ts';

const [from = '1', count = '100'] = process.argv.slice(2);
const totals: Record<string, number> = {};
const startedAt = performance.now();
let events = 0;
let kills = 0;
let bad = 0;
for (let seed = Number(from); seed < Number(from) + Number(count); seed += 1) {
  const report = await simulate(seed);
  events += report.events;
  kills += report.kills;
  for (const [state, n] of Object.entries(report.states)) totals[state] = (totals[state] ?? 0) + n;
  if (report.violations.length > 0) {
    bad += 1;
    console.log(`seed ${seed}: ${report.violations.join(' | ')}`);
  }
}
console.log(JSON.stringify({ totals, events, kills, bad, seconds: (performance.now() - startedAt) / 1000 }));
