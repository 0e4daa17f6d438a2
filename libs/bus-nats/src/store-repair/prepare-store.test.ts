import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../testing/free-port.ts';
import { launchServer, type ServerProcess } from '../testing/launch-server.ts';
import { serverVersion } from '../testing/server-version.ts';
import { waitFor } from '../testing/wait-for.ts';
import { prepareStore, recoversAlone } from './index.ts';
import { readIndex } from './index-file.ts';

const HOST = '127.0.0.1';
const PAD = 'x'.repeat(32_000);
const version = await serverVersion('nats-server');
const needsHelp = !recoversAlone(version);

let directory: string;
let port: number;
let server: ServerProcess;
let nc: NatsConnection;
let manager: JetStreamManager;
let js: JetStreamClient;

const configFile = () => join(directory, 'server.conf');
const launch = async () => {
  server = await launchServer({ program: 'nats-server', configFile: configFile(), host: HOST, port });
};
const kill = async () => {
  server.kill('SIGKILL');
  await server.exited;
};
/** The server again, with a prepared store or as it was left. */
const restart = async (prepared: boolean) => {
  if (prepared) await prepareStore(directory, version);
  await launch();
  await waitFor(() => manager.streams.info('S'));
};
const messages = (name = '') => join(directory, 'jetstream', '$G', 'streams', 'S', 'msgs', name);
const blocks = async () => (await readdir(messages())).filter((name) => name.endsWith('.blk')).sort();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolfabric-store-'));
  port = await freePort();
  await writeFile(configFile(), `listen: "${HOST}:${port}"\njetstream: { store_dir: ${JSON.stringify(directory)} }\n`);
  await launch();
  nc = await connect({
    servers: `${HOST}:${port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 20,
    reconnectJitter: 5,
  });
  manager = await waitFor(() => jetstreamManager(nc, { timeout: 500 }));
  js = jetstream(nc);
});
afterEach(async () => {
  await nc.close();
  await kill();
  await rm(directory, { recursive: true, force: true });
});

/** Stored messages by key: the sequence that the server acknowledged last. */
class Bucket {
  readonly acknowledged = new Map<number, number>();

  static async create(): Promise<Bucket> {
    const keyed = { max_msgs_per_subject: 1, discard: 'new', retention: 'limits', storage: 'file' } as const;
    await manager.streams.add({ name: 'S', subjects: ['s.>'], ...keyed, max_bytes: 30_000_000 });
    return new Bucket();
  }

  async put(key: number): Promise<void> {
    const expected = headers();
    expected.set('Nats-Expected-Last-Subject-Sequence', String(this.acknowledged.get(key) ?? 0));
    this.acknowledged.set(key, (await js.publish(`s.${key}`, PAD, { headers: expected })).seq);
  }

  async lost(): Promise<number[]> {
    const lost: number[] = [];
    for (const [key, sequence] of this.acknowledged) {
      const found = await manager.streams.getMessage('S', { last_by_subj: `s.${key}` }).catch(() => undefined);
      if (found?.seq !== sequence) lost.push(key);
    }
    return lost;
  }
}

const expectLost = (lost: readonly number[], prepared: boolean) =>
  prepared || !needsHelp ? expect(lost).toEqual([]) : expect(lost).not.toEqual([]);

describe('a bucket whose server is killed', () => {
  it.each([true, false])(
    'RE-3: has every acknowledged write, also when its tenth block was just begun (prepared: %s)',
    async (prepared) => {
      const bucket = await Bucket.create();
      let next = 0;
      while (!(await blocks()).includes('10.blk')) await bucket.put(next++ % 64);
      await Promise.all(Array.from({ length: 20 }, () => bucket.put(next++ % 64)));
      await kill();
      await restart(prepared);
      expectLost(await bucket.lost(), prepared);
    },
  );

  it.each(needsHelp ? [true, false] : [])(
    'RE-3: has every acknowledged write, also when a block was compacted and its index was not removed yet (prepared: %s)',
    async (prepared) => {
      const bucket = await Bucket.create();
      let keys = 0;
      while ((await blocks()).length < 2) await bucket.put(keys++);
      const index = await readFile(messages('1.idx'));
      const { size } = await stat(messages('1.blk'));
      for (let key = 0; key < 3; key += 1) await bucket.put(key);
      for (let key = 10; (await stat(messages('1.blk'))).size === size; key += 1) await bucket.put(key);
      await kill();
      await writeFile(messages('1.idx'), index);
      await restart(prepared);
      expectLost(await bucket.lost(), prepared);
      if (prepared) for (let key = 0; key < keys; key += 1) await bucket.put(key);
    },
  );

  it('is ready for every version, again and again', async () => {
    const bucket = await Bucket.create();
    for (let next = 0; (await blocks()).length < 2; next += 1) await bucket.put(next);
    await kill();
    for (const [asked, names] of [
      ['2.9.10', ['0000000001.blk', '0000000002.blk']],
      ['2.9.25', ['0000000001.blk', '0000000002.blk']],
      ['2.10.0', ['1.blk', '2.blk']],
      ['3.0.0', ['1.blk', '2.blk']],
    ] as const) {
      await prepareStore(directory, asked);
      expect(await blocks()).toEqual(names);
    }
    await restart(true);
    expect(await bucket.lost()).toEqual([]);
  });

  it('begins with the sequence 1 when nothing was ever stored in it', async () => {
    const bucket = await Bucket.create();
    for (let time = 0; time < 2; time += 1) {
      await kill();
      await restart(true);
    }
    await bucket.put(0);
    expect(bucket.acknowledged.get(0)).toBe(1);
  });
});

describe.each(needsHelp ? ['is late', 'was cut off'] : [])('an emptied stream whose index %s', (how) => {
  /** As a kill between emptying the block and writing its index leaves it. */
  const killWith = async (index: Buffer) => {
    await kill();
    await writeFile(messages('1.idx'), how === 'is late' ? index : '');
  };

  it.each([true, false])('L2: delivers what is stored after the restart (prepared: %s)', async (prepared) => {
    await manager.streams.add({ name: 'S', subjects: ['s.>'], retention: 'workqueue', storage: 'file' });
    await manager.consumers.add('S', { durable_name: 'c', ack_policy: 'explicit', deliver_policy: 'all' });
    const take = async (count: number, expires: number) => {
      let taken = 0;
      for await (const message of await (await js.consumers.get('S', 'c')).fetch({ max_messages: count, expires })) {
        taken += Number(await message.ackAck());
      }
      return taken;
    };
    const give = async (count: number) => {
      for (let n = 0; n < count; n += 1) await js.publish('s.work');
      expect(await take(count, 10_000)).toBe(count);
    };
    /** Everything of the stream and its consumer is in the files, up to this sequence. */
    const isWritten = async (last: number) => {
      const consumer = await readFile(join(directory, 'jetstream', '$G', 'streams', 'S', 'obs', 'c', 'o.dat'));
      return (await readIndex(messages('1.idx')))?.first === last + 1 && consumer[3] === last && consumer[5] === last;
    };
    await give(3);
    await waitFor(() => isWritten(3));
    const index = await readFile(messages('1.idx'));
    await give(4);
    await waitFor(() => isWritten(7));
    await killWith(index);
    await restart(prepared);
    await js.publish('s.work');
    expect(await take(1, prepared ? 10_000 : 1_000)).toBe(prepared ? 1 : 0);
  });

  it('gives no sequence a second time', async () => {
    const bucket = await Bucket.create();
    const remove = async (key: number) => manager.streams.deleteMessage('S', bucket.acknowledged.get(key) ?? 0, false);
    await bucket.put(0);
    await remove(0);
    const index = await readFile(messages('1.idx'));
    for (let key = 1; key < 5; key += 1) await bucket.put(key);
    for (let key = 1; key < 5; key += 1) await remove(key);
    await killWith(index);
    await restart(true);
    await bucket.put(6);
    expect(bucket.acknowledged.get(6)).toBeGreaterThan(5);
    expect(await bucket.lost()).toEqual([0, 1, 2, 3, 4]);
  });
});
