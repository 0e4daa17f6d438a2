import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SpawnedService, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADA, type AppName, Cluster } from '../support/cluster.ts';
import { EventTap } from './event-tap.ts';

/** Takes every request and never answers one, until it is told to answer. */
class Collector {
  readonly server: Server;
  hangs = true;
  readonly paths: string[] = [];
  bytes = 0;

  constructor() {
    this.server = createServer((request, response) => {
      this.paths.push(request.url ?? '');
      request.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length;
      });
      request.on('end', () => {
        if (!this.hangs) response.writeHead(200).end();
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const SERVICES: readonly AppName[] = ['router', 'gateway', 'truth'];
const collector = new Collector();
const services = new Map<AppName, SpawnedService>();
let cluster: Cluster;
let tap: EventTap;

beforeAll(async () => {
  const env = { TOOLFABRIC_OTLP_ENDPOINT: await collector.listen() };
  cluster = await Cluster.start();
  await cluster.publishTruth();
  tap = await EventTap.on(cluster.nats);
  for (const app of SERVICES) services.set(app, cluster.spawn(app, '', env));
  await Promise.all([...services.values()].map(({ ready }) => ready));
}, 60_000);
afterAll(async () => {
  collector.close();
  await tap.stop();
  await cluster.stop();
});

it('a collector that hangs harms no call, takes no span from the trace store, and keeps no service from ending', async () => {
  const client = cluster.client();
  const { taskId } = await client.createTask({ title: 'collected' });
  const calls = await Promise.all(
    Array.from({ length: 60 }, () => client.call({ taskId, tool: 'truth.noop', args: {} })),
  );
  expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'ok'));
  await waitFor(async () => collector.bytes > 0);
  expect(new Set(collector.paths)).toEqual(new Set(['/v1/traces']));
  for (const { callId } of calls) await tap.spansOfCall(ADA.tenant, callId, 4);
  const late = await client.call({ taskId, tool: 'truth.append', args: { identity: 'late' } });
  expect(late.state).toBe('ok');
  for (const service of services.values()) service.kill('SIGTERM');
  const ends = await Promise.all([...services.values()].map(({ exited }) => exited));
  expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })));
  // What was recorded last is handed over before the end.
  await tap.spansOfCall(ADA.tenant, late.callId, 4);
}, 60_000);
