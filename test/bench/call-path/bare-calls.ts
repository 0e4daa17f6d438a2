import { spawn } from 'node:child_process';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { BUCKETS, bucketPrefix } from '@toolfabric/bus-nats';
import { randomId } from '@toolfabric/kernel';
import { connectOpen, ECHO_SUBJECT } from './bare-bus.ts';
import { DurablePath } from './durable-path.ts';
import type { BarePoint, Target } from './jobs.ts';
import type { OneCall } from './run-load.ts';

/** As large as the record of a small call. */
const BODY = Buffer.from(JSON.stringify({ text: 'x'.repeat(600) }));
const TIMEOUT = { timeout: 5_000 };

const requestOnce = (nc: NatsConnection) => async () => {
  await nc.request(ECHO_SUBJECT, BODY, TIMEOUT);
  return '';
};

const checkStored = (text: string): string => {
  if (!text.includes('"seq"')) throw new Error(`not stored: ${text.slice(0, 100)}`);
  return '';
};

/** A stream publish with a message id, acknowledged by the server. */
const publishOnce = (nc: NatsConnection) => async () => {
  const made = headers();
  made.set('Nats-Msg-Id', randomId());
  return checkStored((await nc.request('event.router.bench', BODY, { ...TIMEOUT, headers: made })).string());
};

/** A new key in a bucket, created by compare-and-set. */
const putOnce = (nc: NatsConnection) => async () => {
  const made = headers();
  made.set('Nats-Expected-Last-Subject-Sequence', '0');
  const subject = `${bucketPrefix(BUCKETS.tasks)}task.bench.${randomId()}`;
  return checkStored((await nc.request(subject, BODY, { ...TIMEOUT, headers: made })).string());
};

const spawnOnce: OneCall = () =>
  new Promise((resolve, reject) => {
    const child = spawn('/bin/true', [], { stdio: 'ignore' });
    child.once('error', reject);
    child.once('exit', () => resolve(''));
  });

export type BareCalls = Readonly<Record<Exclude<Target['type'], 'fabric'>, OneCall>>;

export const openBareCalls = async (point: BarePoint): Promise<BareCalls> => {
  const nc = await connectOpen(point.url, point.seeds.open);
  const durable = await DurablePath.open(point);
  return {
    request: requestOnce(nc),
    publish: publishOnce(nc),
    put: putOnce(nc),
    durable: () => durable.call(),
    spawn: spawnOnce,
  };
};

/** The other side of a bare request. */
export const answerRequests = async ({ url, seeds }: BarePoint): Promise<void> => {
  const nc = await connectOpen(url, seeds.open);
  nc.subscribe(ECHO_SUBJECT, { callback: (_error, message) => void message.respond(message.data) });
  await nc.flush();
};
