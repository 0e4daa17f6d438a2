import { table } from '../call-path/markdown.ts';
import type { Must } from '../call-path/musts.ts';
import { type DoorRow, measureDoor } from './measure-door.ts';
import type { Part } from './part.ts';

const PERMITS = 200;
const fixed = (value: number): string => value.toFixed(2);

const mustsOf = ([direct, passed, read]: readonly DoorRow[]): Must[] => {
  if (direct === undefined || passed === undefined || read === undefined) return [];
  const most = (name: string, value: number, limit: number): Must => ({ name, value, limit, atMost: true });
  return [
    most('a request over a tunnel that is passed through: p50 over direct', passed.kept.p50 / direct.kept.p50, 3),
    most('a request over a tunnel that is read: p50 over direct', read.kept.p50 / direct.kept.p50, 6),
    most(
      'a new tunnel that is passed through, with a request: p50 over direct',
      passed.fresh.p50 / direct.fresh.p50,
      4,
    ),
    most('a new tunnel that is read, with a request: p50 over direct', read.fresh.p50 / direct.fresh.p50, 6),
    most(`${PERMITS} permits at one time, read: time over direct`, read.together / direct.together, 6),
  ];
};

export const DOOR: Part = {
  name: 'door',
  heading: 'What the way out adds to a connection',
  async measure(isQuick) {
    const plan = isQuick
      ? { connections: 20, requests: 200, megabytes: 32, permits: PERMITS }
      : { connections: 100, requests: 2_000, megabytes: 256, permits: PERMITS };
    const rows = await measureDoor(plan);
    const [direct] = rows;
    const head = ['a host over TLS', 'new p50 ms', 'p95', 'kept p50 ms', 'p95', 'p50 over direct', 'MB/s'];
    const text = [
      table(
        [...head, `${PERMITS} at one time, ms`],
        rows.map(({ name, fresh, kept, throughput, together }) => [
          name,
          ...[fresh.p50, fresh.p95, kept.p50, kept.p95].map(fixed),
          fixed(kept.p50 / (direct?.kept.p50 ?? Number.NaN)),
          Math.round(throughput),
          Math.round(together),
        ]),
      ),
      'New: a connection with its handshakes and one request of a few bytes. Kept: one more request over it. MB/s: one',
      `body of ${plan.megabytes} MB. At one time: so many clients, each with a connection and, through the egress, a permit`,
      'that it opens first. Client, egress and host share one process, so that the figures of the egress hold the work of all three.',
    ]
      .join('\n\n')
      .replace(/\n\n(?=body|that)/g, '\n');
    return { text, musts: mustsOf(rows) };
  },
};
