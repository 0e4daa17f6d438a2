import { readFileSync } from 'node:fs';
import type { LedgerBus } from '@toolfabric/bus-nats';
import type { Actor, FabricEvent } from '@toolfabric/contract';
import { callIdOf, payloadEvent, plainEvent, settledEvent } from '@toolfabric/trace-clickhouse/testing';
import { ADA, Cluster } from '../support/cluster.ts';
import { ask, statusAt } from './trace-bench.ts';

export interface TraceNumbers {
  readonly events: number;
  /** From the bus into the store, with all of them waiting on the bus at the start. */
  readonly eventsPerSecond: number;
  /** MiB in RAM at most, while they were stored. */
  readonly writerMiB: number;
  readonly engineMiB: number;
  /** MiB of the engine some seconds later. */
  readonly engineIdleMiB: number;
  /** Milliseconds over the bus, half of the calls being one actor's. */
  readonly listCalls: Spread;
  readonly getTrace: Spread;
}
export interface Spread {
  readonly p50: number;
  readonly p90: number;
}

const QUESTIONS = 40;
/** Events that are stored at once by whoever sends them. */
const WINDOW = 600;

const residentMiB = (pid: number): number => {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
};

/** Three events a call, as the router sends them. */
const eventsOf = (n: number, at: number): FabricEvent[] => {
  const actor: Actor = n % 2 === 0 ? ADA : { ...ADA, user: `user-${n % 50}` };
  const texts = {
    arguments: `{"path":"src/file-${n}.ts"}`,
    result: `{"text":"what file ${n} holds, line after line"}`,
  };
  return [
    plainEvent(n, 'call.accepted', { actor, at: at - 30 }),
    payloadEvent(n, texts, actor),
    settledEvent(n, { actor, at }),
  ];
};

const send = async (router: LedgerBus, calls: number): Promise<void> => {
  const base = Date.now() - calls;
  const window: Promise<void>[] = [];
  for (let n = 0; n < calls; n += 1) {
    window.push(...eventsOf(n, base + n).map((event) => router.events.store(event)));
    if (window.length >= WINDOW) await Promise.all(window.splice(0));
  }
  await Promise.all(window);
};

const spreadOf = async (question: (n: number) => Promise<unknown>): Promise<Spread> => {
  const times: number[] = [];
  for (let n = 0; n < QUESTIONS; n += 1) {
    const began = performance.now();
    await question(n);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p90: at(0.9) };
};

/** The whole path with a real bus, a real writer and a real embedded engine, on an empty store. */
export const measureTracePath = async (events: number): Promise<TraceNumbers> => {
  const cluster = await Cluster.start({ pace: 'production' });
  try {
    const calls = Math.round(events / 3);
    await send(cluster.ledger, calls);
    const writer = await cluster.ensure('trace-writer');
    const { address } = await writer.ready;
    const began = performance.now();
    let [writerMiB, engineMiB] = [0, 0];
    for (;;) {
      const { store, writer: counts } = await statusAt(address);
      writerMiB = Math.max(writerMiB, residentMiB(writer.pid));
      engineMiB = Math.max(engineMiB, residentMiB(store.engine?.pid ?? 0));
      if (counts.stored >= calls * 3) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const eventsPerSecond = (calls * 3 * 1_000) / (performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const engineIdleMiB = residentMiB((await statusAt(address)).store.engine?.pid ?? 0);
    const gateway = await cluster.nats.connectAsGateway('measuring');
    const listCalls = await spreadOf(() => ask(gateway, 'listCalls', { actor: ADA, limit: 50 }));
    const step = 2 * Math.max(1, Math.floor(calls / 2 / QUESTIONS));
    const getTrace = await spreadOf((n) => ask(gateway, 'getTrace', { actor: ADA, callId: callIdOf(n * step) }));
    return { events: calls * 3, eventsPerSecond, writerMiB, engineMiB, engineIdleMiB, listCalls, getTrace };
  } finally {
    await cluster.stop();
  }
};
