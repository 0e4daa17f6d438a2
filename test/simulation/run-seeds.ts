/** `node test/simulation/run-seeds.ts [FROM] [COUNT]`: prints every seed that breaks an invariant, and the totals. */
import { checkSeeds } from './check-seeds.ts';

const [from = '1', count = '100'] = process.argv.slice(2);
const startedAt = performance.now();
const { broken, ...totals } = await checkSeeds(Number(from), Number(count));
for (const line of broken) console.log(line);
const seconds = Math.round((performance.now() - startedAt) / 1000);
console.log(JSON.stringify({ ...totals, broken: broken.length, seconds }));
process.exitCode = broken.length === 0 ? 0 : 1;
