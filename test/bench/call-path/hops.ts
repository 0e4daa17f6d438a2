import type { NatsConnection } from '@nats-io/transport-node';
import { connectOpen } from './bare-bus.ts';
import type { BenchFabric } from './bench-fabric.ts';
import { machineNow, type Stamp } from './jobs.ts';
import type { LoadClient } from './load-client.ts';
import { median, percentile } from './statistics.ts';

/** One message as it passed the bus; the text is cut. */
export interface Passed {
  readonly at: number;
  readonly subject: string;
  readonly text: string;
}

const MOST_MESSAGES = 200_000;
const KEPT_BYTES = 400;
const OVERDUE_MS = 60_000;

/** Hears every message of the main account with its time; it changes nothing in the services. */
class BusTap {
  readonly passed: Passed[] = [];
  readonly #nc: NatsConnection;

  constructor(nc: NatsConnection) {
    this.#nc = nc;
    nc.subscribe('>', {
      callback: (error, { subject, data }) => {
        if (error !== null || this.passed.length >= MOST_MESSAGES) return;
        const text = Buffer.from(data.buffer, data.byteOffset, Math.min(data.byteLength, KEPT_BYTES)).toString('utf8');
        this.passed.push({ at: machineNow(), subject, text });
      },
    });
  }

  close(): Promise<void> {
    return this.#nc.close();
  }
}

interface Mark {
  /** What happened between the mark before and this one. */
  readonly name: string;
  readonly matches: (message: Passed, callId: string) => boolean;
}

const acked = (stream: string) => (message: Passed) => message.text.startsWith(`{"stream":"${stream}`);
const onSubject = (prefix: string) => (message: Passed, callId: string) =>
  message.subject.startsWith(prefix) && message.subject.includes(callId);

/**
 * In the order in which a claimless call meets them; one that a call does not meet is left out. The task is read beside
 * the accept and is on nobody's way.
 */
const MARKS: readonly Mark[] = [
  { name: 'caller and gateway: request on the bus', matches: ({ subject }) => subject === 'rpc.router.call' },
  { name: 'router: checks, policy; OPEN and call sent', matches: onSubject('$KV.LEDGER_') },
  { name: 'bus: OPEN and call stored', matches: acked('KV_LEDGER_') },
  { name: 'router: work signed and sent', matches: ({ subject }) => subject.startsWith('work.') },
  { name: 'bus, worker: delivered, verified, run; result sent', matches: onSubject('result.') },
  { name: 'bus, router: result delivered; terminal state sent', matches: onSubject('$KV.LEDGER_') },
  { name: 'bus: terminal state stored', matches: acked('KV_LEDGER_') },
  { name: 'router: settled notice sent', matches: onSubject('settled.') },
];
const LAST = 'bus, gateway, caller: answered';

/** For each mark the time from the one before, or undefined where this call did not meet it. */
export const hopsOf = (passed: readonly Passed[], { callId, began, answered }: Stamp): (number | undefined)[] => {
  const own = passed.filter(({ at }) => at >= began && at <= answered + 1);
  let from = 0;
  let last = began;
  const steps = MARKS.map(({ matches }) => {
    const index = own.findIndex((message, i) => i >= from && matches(message, callId));
    const found = own[index];
    if (found === undefined) return undefined;
    from = index + 1;
    const step = found.at - last;
    last = found.at;
    return step;
  });
  return [...steps, answered - last];
};

export interface Hop {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
}

export interface HopReport {
  readonly calls: number;
  readonly hops: readonly Hop[];
  /** Of the whole call, with the listener running. */
  readonly total: Hop;
  /** Messages on the bus for one call, by family of subjects, whoever waits for them. */
  readonly messagesPerCall: Readonly<Record<string, number>>;
}

const familyOf = ({ subject }: Passed): string => {
  if (subject.startsWith('_')) return 'answers';
  const [first = '', second = '', ...rest] = subject.split('.');
  if (first === '$KV') return `write ${second.replace(/_\d$/, '')}`;
  if (first === '$JS' && second === 'API') return rest.slice(0, 3).join(' ').toLowerCase();
  if (first === '$JS') return second === 'ACK' ? 'acknowledge' : 'audit of the stream interface';
  return first;
};

const messagesPerCall = (passed: readonly Passed[], calls: number): Record<string, number> => {
  const counts = Object.entries(Object.groupBy(passed, familyOf)).map(
    ([family, messages]) => [family, (messages?.length ?? 0) / calls] as const,
  );
  // What runs in the background, whether calls come or not, is far below one message in ten calls.
  return Object.fromEntries(counts.filter(([, count]) => count >= 0.1).sort(([, a], [, b]) => b - a));
};

const summarize = (passed: readonly Passed[], stamps: readonly Stamp[]): HopReport => {
  let first = 0;
  const all = stamps.map((stamp) => {
    while ((passed[first]?.at ?? Number.POSITIVE_INFINITY) < stamp.began) first += 1;
    return hopsOf(passed.slice(first, first + 200), stamp);
  });
  const hops = [...MARKS.map(({ name }) => name), LAST].flatMap((name, i) => {
    const steps = all.map((steps) => steps[i]).filter((step) => step !== undefined);
    return steps.length < stamps.length / 2 ? [] : [{ name, p50: median(steps), p95: percentile(steps, 0.95) }];
  });
  const totals = stamps.map(({ began, answered }) => answered - began);
  return {
    calls: stamps.length,
    hops,
    total: { name: 'whole call', p50: median(totals), p95: percentile(totals, 0.95) },
    messagesPerCall: messagesPerCall(passed, stamps.length),
  };
};

/** Where the time of a claimless call goes at one caller: the times at which its messages pass the bus. */
export const measureHops = async (fabric: BenchFabric, caller: LoadClient, calls: number): Promise<HopReport> => {
  const tap = new BusTap(await connectOpen(fabric.server.url, fabric.openSeed));
  try {
    const target = { type: 'fabric', fabric: 'main', tool: 'truth.noop', actors: 1 } as const;
    const load = { callers: 1, ms: OVERDUE_MS / 2, calls, stamped: true };
    const { stamps } = await caller.load(target, load);
    return summarize(tap.passed, stamps);
  } finally {
    await tap.close();
  }
};
