import type { RequestListener } from 'node:http';
import type { EgressRule } from '@toolfabric/contract';
import { certificateFor, testAuthority } from '../../../apps/egress/src/testing/certificates.ts';
import { openEgress, permitFor } from '../../../apps/egress/src/testing/open-egress.ts';
import { openPeer } from '../../../apps/egress/src/testing/open-peer.ts';
import { type Spread, spreadOf } from '../call-path/statistics.ts';
import { ask, direct, keepOpen, type Reach, throughDoor } from './door-client.ts';

export interface DoorPlan {
  /** New connections, one at a time. */
  readonly connections: number;
  /** Requests over one connection. */
  readonly requests: number;
  readonly megabytes: number;
  /** Permits that are in use at one time. */
  readonly permits: number;
}

export interface DoorRow {
  readonly name: string;
  /** Milliseconds of a new connection with one request, and of a request over one that is open. */
  readonly fresh: Spread;
  readonly kept: Spread;
  /** Megabytes a second of one large body. */
  readonly throughput: number;
  /** So many clients at one time, each with a connection and, through the door, a permit of its own: milliseconds of all. */
  readonly together: number;
}

const HOST = 'bench.example.com';
const MEGABYTE = 1_048_576;
const PART = Buffer.alloc(65_536, 'x');

/** `/n` is n megabytes; everything else is a word. */
const answer: RequestListener = (req, res) => {
  let left = Number((req.url ?? '').slice(1)) * MEGABYTE;
  if (!(left > 0)) return void res.end('hello');
  res.setHeader('content-length', left);
  const write = (): void => {
    while (left > 0) {
      left -= PART.length;
      if (left <= 0) return void res.end(PART);
      if (!res.write(PART)) return;
    }
  };
  res.on('drain', write);
  write();
};

/** A way to the host, opened anew for each client: through the door under a permit of its own. */
interface Way {
  readonly name: string;
  readonly ca: string;
  open(): Promise<Reach>;
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

const measureWay = async ({ name, ca, open }: Way, port: number, plan: DoorPlan): Promise<DoorRow> => {
  const connectOnce = async (reach: Reach) => {
    const socket = await reach(HOST, port, ca);
    await ask(keepOpen(socket), HOST, port, '/');
    return socket;
  };
  const reach = await open();
  const fresh: number[] = [];
  for (let n = -5; n < plan.connections; n += 1) {
    const took = await timed(async () => (await connectOnce(reach)).destroy());
    if (n >= 0) fresh.push(took);
  }
  const agent = keepOpen(await reach(HOST, port, ca));
  const kept: number[] = [];
  for (let n = -20; n < plan.requests; n += 1) {
    const took = await timed(() => ask(agent, HOST, port, '/'));
    if (n >= 0) kept.push(took);
  }
  const large = await timed(() => ask(agent, HOST, port, `/${plan.megabytes}`));
  agent.destroy();
  const together = await timed(async () => {
    const clients = Array.from({ length: plan.permits }, async () => connectOnce(await open()));
    for (const socket of await Promise.all(clients)) socket.destroy();
  });
  return {
    name,
    fresh: spreadOf(fresh),
    kept: spreadOf(kept),
    throughput: (plan.megabytes * 1_000) / large,
    together,
  };
};

/** A host on this machine over TLS: by itself, passed through, and read on the way. Client, door and host are one process. */
export const measureDoor = async (plan: DoorPlan): Promise<readonly DoorRow[]> => {
  const [outside, inside] = await Promise.all([testAuthority(), testAuthority()]);
  const peer = await openPeer(await certificateFor([HOST], outside), answer);
  const egress = await openEgress({ authority: inside, extraCa: [outside.cert] });
  const near: EgressRule = { host: HOST, ports: [peer.port], addresses: ['127.0.0.0/8'] };
  const under = async (rule: EgressRule) => {
    const permit = permitFor([rule], { maxBytes: 100_000 * MEGABYTE, expires: Date.now() + 3_600_000 });
    return throughDoor(egress.socketPath, await egress.open(permit));
  };
  const ways: readonly Way[] = [
    { name: 'direct', ca: outside.cert, open: async () => direct },
    { name: 'passed through', ca: outside.cert, open: () => under(near) },
    { name: 'read on the way', ca: inside.cert, open: () => under({ ...near, methods: ['GET'] }) },
  ];
  try {
    const rows: DoorRow[] = [];
    for (const way of ways) rows.push(await measureWay(way, peer.port, plan));
    return rows;
  } finally {
    await egress.stop();
    await peer.stop();
  }
};
