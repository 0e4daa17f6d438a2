import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AckPolicy, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clearAcknowledged, clearOldest } from './clear-acknowledged.ts';
import { freePort } from './testing/free-port.ts';
import { launchServer, type ServerProcess } from './testing/launch-server.ts';
import { waitFor } from './testing/wait-for.ts';

const HOST = '127.0.0.1';

let directory: string;
let port: number;
let server: ServerProcess;
let nc: NatsConnection;
let manager: JetStreamManager;

const launch = async () => {
  server = await launchServer({ program: 'nats-server', configFile: join(directory, 'server.conf'), host: HOST, port });
};
const stop = async () => {
  server.kill('SIGTERM');
  await server.exited;
};
const stored = () => join(directory, 'jetstream', '$G', 'streams', 'S', 'msgs');
const consumers = () => join(directory, 'jetstream', '$G', 'streams', 'S', 'obs');
/** Only while the server is stopped. */
const replace = async (place: string, kept: string) => {
  await rm(place, { recursive: true });
  await cp(join(directory, kept), place, { recursive: true });
};
const count = () => waitFor(async () => (await manager.streams.info('S')).state.messages.toString()).then(Number);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolfabric-store-'));
  port = await freePort();
  const text = `listen: "${HOST}:${port}"\njetstream: { store_dir: ${JSON.stringify(directory)} }\n`;
  await writeFile(join(directory, 'server.conf'), text);
  await launch();
  nc = await connect({ servers: `${HOST}:${port}`, maxReconnectAttempts: -1, reconnectTimeWait: 20 });
  manager = await waitFor(() => jetstreamManager(nc, { timeout: 500 }));
});
afterEach(async () => {
  await nc.close();
  await stop();
  await rm(directory, { recursive: true, force: true });
});

it('L6: what was acknowledged and came back is removed, and nothing else', async () => {
  await manager.streams.add({ name: 'S', subjects: ['w.>'], retention: 'workqueue', storage: 'file' });
  const explicit = { ack_policy: AckPolicy.Explicit, ack_wait: 60_000_000_000 };
  for (const name of ['hi', 'lo'])
    await manager.consumers.add('S', { durable_name: name, filter_subject: `w.${name}`, ...explicit });
  const js = jetstream(nc);
  for (const subject of ['w.hi', 'w.lo', 'w.hi', 'w.hi', 'w.lo']) await js.publish(subject, 'x');
  await stop();
  await cp(stored(), join(directory, 'before'), { recursive: true });
  await launch();
  expect(await count()).toBe(5);
  const hi = await js.consumers.get('S', 'hi');
  for (let n = 0; n < 3; n += 1) expect(await (await hi.next({ expires: 5_000 }))?.ackAck()).toBe(true);
  expect(await count()).toBe(2);
  // As after a kill that lost the removal, and not the acknowledgement.
  await stop();
  await replace(stored(), 'before');
  await launch();
  expect(await count()).toBe(5);
  // One by one, as where the server has forgotten their subjects: up to the first that nobody has acknowledged.
  const present = [];
  for await (const consumer of manager.consumers.list('S')) present.push(consumer);
  expect(await clearOldest(manager, 'S', present)).toBe(1);
  expect(await count()).toBe(4);
  expect(await clearOldest(manager, 'S', present)).toBe(0);
  expect(await clearAcknowledged(manager)).toBe(2);
  expect(await count()).toBe(2);
  await js.publish('w.hi', 'held');
  await js.publish('w.hi', 'waits');
  const held = await hi.next({ expires: 5_000 });
  expect(await clearAcknowledged(manager)).toBe(0);
  expect(await count()).toBe(4);
  await held?.ackAck();
  expect(await (await js.consumers.get('S', 'lo')).next({ expires: 5_000 })).not.toBeNull();
});

it('L6: a delivery whose message is gone holds nothing back', async () => {
  await manager.streams.add({ name: 'S', subjects: ['w.>'], retention: 'workqueue', storage: 'file' });
  await manager.consumers.add('S', {
    durable_name: 'hi',
    filter_subject: 'w.hi.*',
    ack_policy: AckPolicy.Explicit,
    ack_wait: 60_000_000_000,
  });
  const js = jetstream(nc);
  for (let n = 0; n < 5; n += 1) await js.publish('w.hi.acme', 'x');
  await stop();
  await cp(stored(), join(directory, 'before'), { recursive: true });
  await launch();
  expect(await count()).toBe(5);
  const hi = await js.consumers.get('S', 'hi');
  const next = async () => {
    const message = await hi.next({ expires: 5_000 });
    if (message === null) throw new Error('nothing came');
    return message;
  };
  expect(await (await next()).ackAck()).toBe(true);
  await next();
  for (let n = 0; n < 3; n += 1) expect(await (await next()).ackAck()).toBe(true);
  // As after kills: that one open delivery was taken back is known to the stream alone, and that the later ones were
  // acknowledged to the consumer alone.
  await stop();
  await cp(consumers(), join(directory, 'consumers'), { recursive: true });
  await replace(stored(), 'before');
  await launch();
  expect(await count()).toBe(5);
  for (const seq of [1, 2]) await manager.streams.deleteMessage('S', seq);
  await stop();
  await replace(consumers(), 'consumers');
  await launch();
  expect(await count()).toBe(3);
  const state = await manager.consumers.info('S', 'hi');
  expect([state.ack_floor.stream_seq, state.num_ack_pending, state.num_pending]).toEqual([1, 1, 0]);
  expect(await clearAcknowledged(manager)).toBe(3);
  expect(await count()).toBe(0);
  expect((await manager.consumers.info('S', 'hi')).num_ack_pending).toBe(0);
});
