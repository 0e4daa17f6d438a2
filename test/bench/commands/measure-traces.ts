import type { FabricEvent } from '@toolfabric/contract';
import type { SpawnedService } from '@toolfabric/testkit';
import { callIdOf } from '@toolfabric/trace-clickhouse/testing';
import { Cluster } from '../../support/cluster.ts';
import { caughtUp, type TraceStatus } from '../../traces/trace-bench.ts';
import { BenchFabric } from '../call-path/bench-fabric.ts';
import { LoadClient } from '../call-path/load-client.ts';
import { measureInterleaved, ratioOf, rowOf } from '../call-path/measure.ts';
import { openFabric } from '../call-path/warm-up.ts';
import { peakMiB } from './process-memory.ts';

export interface StoreNumbers {
  readonly events: number;
  readonly eventsPerSecond: number;
  readonly writerMiB: number;
  readonly engineMiB: number;
}

const settled = (n: number): FabricEvent => ({
  id: `bench-${n}`,
  type: 'call.settled',
  service: 'router',
  tenant: 'acme',
  at: Date.now(),
  callId: callIdOf(n),
  taskId: 't-0123456789abcdefghjkmnpqrs',
  actor: { tenant: 'acme', user: `user-${n % 50}`, agent: 'coder' },
  attributes: {
    ...{ tool: 'workspace.read_file', version: '1.0.0', state: 'ok', sideEffect: 'none', attempt: 1, epoch: 1 },
    ...{ rule: 'default.allow.read', policyVersion: 'default-1', durationMs: n % 400, resultBytes: n % 4_000 },
    ...{ acceptedAt: Date.now(), settledAt: Date.now(), truncated: n % 9 === 0, turn: n % 20 },
  },
});

const BATCH = 2_000;

/** Events as routers publish them, until each of them is a row. */
export const measureStore = async (events: number): Promise<StoreNumbers> => {
  const cluster = await Cluster.start({ pace: 'production' });
  try {
    const writer: SpawnedService = cluster.spawn('trace-writer');
    const { address } = await writer.ready;
    const before = await caughtUp(address, 0);
    const began = performance.now();
    for (let n = 0; n < events; n += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, events - n) }, (_, i) => settled(n + i));
      await Promise.all(batch.map((event) => cluster.ledger.events.store(event)));
    }
    const status: TraceStatus = await caughtUp(address, before.writer.stored + events);
    const seconds = (performance.now() - began) / 1_000;
    const engineMiB = (status.store.engine?.rss ?? Number.NaN) / 1024 ** 2;
    return { events, eventsPerSecond: events / seconds, writerMiB: peakMiB(writer.pid), engineMiB };
  } finally {
    await cluster.stop();
  }
};

export interface TracingEffect {
  readonly rows: readonly { readonly name: string; readonly p50: number; readonly p95: number }[];
  /** p50 with everything recorded over p50 with nothing of it. */
  readonly ratio: number;
}

const VARIANTS = [
  { name: 'no spans, no payloads, no trace store', env: { TOOLFABRIC_TRACE_SAMPLING: '0' } },
  { name: 'spans, payloads, trace store', env: {}, payloads: true, traceStore: true },
] as const;

/** The same claimless read at one caller, through a fabric that records nothing and one that records everything, in turn. */
export const measureEffect = async (rounds: number): Promise<TracingEffect> => {
  const caller = new LoadClient();
  const fabrics: BenchFabric[] = [];
  try {
    for (const { name, ...options } of VARIANTS) {
      const fabric = await BenchFabric.start({ tools: 10, tenants: 1, ...options });
      fabrics.push(fabric);
      await openFabric(caller, name, fabric, 2_000);
    }
    const subjects = VARIANTS.map(({ name }, i) => ({
      name,
      mode: '',
      target: { type: 'fabric', fabric: name, tool: 'truth.noop', actors: 1 } as const,
      by: caller,
      pids: { ...fabrics[i]?.pids },
      ms: 1_000,
    }));
    const slices = await measureInterleaved(subjects, 1, rounds);
    const of = (name: string) => slices.get(name) ?? [];
    const rows = subjects.map((subject) => {
      const { name, p50, p95 } = rowOf(subject, 1, of(subject.name));
      return { name, p50, p95 };
    });
    return { rows, ratio: ratioOf(of(VARIANTS[1].name), of(VARIANTS[0].name)) };
  } finally {
    for (const { name } of VARIANTS.slice(0, fabrics.length)) await caller.ask({ type: 'close-fabric', fabric: name });
    await Promise.all(fabrics.map((fabric) => fabric.stop()));
    caller.stop();
  }
};
