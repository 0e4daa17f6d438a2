import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchFabric } from '../call-path/bench-fabric.ts';
import { LoadClient } from '../call-path/load-client.ts';
import { type Spread, spreadOf } from '../call-path/statistics.ts';
import { openFabric } from '../call-path/warm-up.ts';

export interface FloodNumbers {
  readonly idle: Spread;
  readonly flooded: Spread;
  /** Calls of the others that did not end ok, while one tenant floods. */
  readonly failed: number;
  readonly others: number;
  /** Calls of the flooding tenant in that time: answered, and refused. */
  readonly flood: { readonly answered: number; readonly refused: number };
}

const TENANTS = 10;
const FLOODERS = 64;
/** The flooding tenant may take a tenth of what the machine can do; one caller of another never comes near its quota. */
const QUOTAS = {
  default: { perSecond: 400, burst: 400, inFlight: 8 },
  tenants: { 'tenant-0': { perSecond: 60, burst: 60, inFlight: 8 } },
};

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** Nine tenants with one caller each, alone and while the tenth sends as much as 64 callers can. */
export const measureFlood = async (ms: number): Promise<FloodNumbers> => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-flood-'));
  const [calm, flooder] = [new LoadClient(), new LoadClient()];
  const quotas = join(folder, 'quotas.json');
  writeFileSync(quotas, JSON.stringify(QUOTAS));
  let fabric: BenchFabric | undefined;
  try {
    fabric = await BenchFabric.start({ tools: 10, tenants: TENANTS, env: { TOOLFABRIC_QUOTAS: quotas } });
    const { address, actors } = fabric.point;
    await openFabric(calm, 'warm', fabric, 300, ['truth.noop']);
    await calm.ask({ type: 'open-fabric', fabric: 'others', point: { address, actors: actors.slice(1) } });
    await flooder.ask({ type: 'open-fabric', fabric: 'flood', point: { address, actors: actors.slice(0, 1) } });
    const others = { type: 'fabric', fabric: 'others', tool: 'truth.noop', actors: TENANTS - 1 } as const;
    const flood = { type: 'fabric', fabric: 'flood', tool: 'truth.noop', actors: 1 } as const;
    const load = { callers: TENANTS - 1, ms };
    const idle = await calm.load(others, load);
    const [flooded, flooding] = await Promise.all([
      calm.load(others, load),
      flooder.load(flood, { callers: FLOODERS, ms }),
    ]);
    console.error(
      'K1',
      JSON.stringify({
        idle: idle.failed,
        idleN: idle.latencies.length,
        flooded: flooded.failed,
        flood: flooding.failed,
      }),
    );
    if (sum(flooded.failed) > 0)
      console.error(`bench: calls of others did not end ok: ${JSON.stringify(flooded.failed)}`);
    return {
      idle: spreadOf(idle.latencies),
      flooded: spreadOf(flooded.latencies),
      failed: sum(flooded.failed),
      others: flooded.latencies.length,
      flood: { answered: flooding.latencies.length, refused: sum(flooding.failed) },
    };
  } finally {
    calm.stop();
    flooder.stop();
    await fabric?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};
