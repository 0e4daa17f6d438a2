import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { generateBusKeys, type LedgerBus, type WorkerBus } from '@toolfabric/bus-nats';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { type SpawnedService, spawnService, startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, BOB } from './testing/open-gateway.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { until } from './testing/until.ts';
import { issueToken } from './tokens.ts';

const APP = resolve(import.meta.dirname, '..');
const CALL = { taskId: 't-00000000000000000000000000', tool: 'a.b', args: { path: 'a' } };
const folder = mkdtempSync(join(tmpdir(), 'toolfabric-real-bus-'));
const files = {
  tokens: join(folder, 'tokens.json'),
  seed: join(folder, 'seed'),
  busKeys: join(folder, 'bus-keys.json'),
  strangerSeed: join(folder, 'stranger'),
};
const alice = issueToken({ id: 'alice', ...ALICE });
const bob = issueToken({ id: 'bob', ...BOB });

let nats: TestNats;
let worker: WorkerBus;
let router: ScriptedRouter;
const clients: FabricClient[] = [];
const services: SpawnedService[] = [];

/** The scripted router as a real peer on the bus. */
const serveRouter = async (): Promise<LedgerBus> => {
  const bus = await nats.connectAsRouter();
  bus.serve(async (verb, body) => router.handle(verb, body));
  router.onSettle = (notice) => bus.settled(notice);
  return bus;
};

const startGateway = async (more: Record<string, string> = {}) => {
  const service = spawnService(APP, {
    TOOLFABRIC_NATS_URL: nats.url,
    TOOLFABRIC_NKEY_SEED_FILE: files.seed,
    TOOLFABRIC_BUS_KEYS_FILE: files.busKeys,
    TOOLFABRIC_TOKENS_FILE: files.tokens,
    TOOLFABRIC_GATEWAY_PORT: '0',
    TOOLFABRIC_PACE: 'test',
    TOOLFABRIC_TEST: '1',
    ...more,
  });
  services.push(service);
  const { address } = await service.ready;
  return { service, address: String(address), port: String(address).split(':')[1] ?? '' };
};

const connect = (address: string, token = alice.token) => {
  const client = connectFabric({ address, token });
  clients.push(client);
  return client;
};
const onlyCall = () => [...router.calls.keys()][0] ?? '';

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  writeFileSync(files.tokens, JSON.stringify([alice.entry, bob.entry]));
  writeFileSync(files.seed, nats.seeds['gateway'] ?? '');
  writeFileSync(files.busKeys, JSON.stringify(nats.busKeys));
  writeFileSync(files.strangerSeed, generateBusKeys(['cli']).seeds['gateway'] ?? '');
  router = new ScriptedRouter();
  await serveRouter();
  worker = await nats.connectAsWorker('cli');
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const service of services.splice(0)) {
    service.kill();
    await service.exited;
  }
  router.reset();
});
afterAll(async () => {
  await nats.stop();
  rmSync(folder, { recursive: true });
});

describe('a gateway process on a real bus', () => {
  it('FD-6, FD-8: a call is answered by the notice, and its watch hears a real worker', async () => {
    const { address } = await startGateway({ TOOLFABRIC_PACE: 'production' });
    const client = connect(address);
    const answer = client.call(CALL);
    await until(() => router.calls.size === 1, 'a call');
    const callId = onlyCall();
    const heard: string[] = [];
    const watch = (async () => {
      for await (const news of client.watchCall(callId)) {
        heard.push(news.type === 'call' ? news.call.state : news.progress.message);
      }
    })();
    while (!heard.includes('half')) {
      worker.progress('acme', callId, 'half', 0.5);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const settled = router.settle(callId);
    expect(await answer).toStrictEqual(settled);
    await watch;
    expect([heard[0], heard.at(-1)]).toEqual(['queued', 'ok']);
  });

  it('RE-3: killed after the acceptance, the retry of the same key finds the same call', async () => {
    const doomed = await startGateway({ TOOLFABRIC_FAULTS: 'gateway.after-accept:kill' });
    const answer = connect(doomed.address).call(CALL);
    expect(await doomed.service.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(router.calls.size).toBe(1);
    await startGateway({ TOOLFABRIC_GATEWAY_PORT: doomed.port });
    await until(() => router.count('call') >= 2, 'the retry');
    expect(router.calls.size).toBe(1);
    const settled = router.settle(onlyCall());
    expect(await answer).toStrictEqual(settled);
  });

  it('RE-3: killed while a caller waits, the next gateway answers the retry', async () => {
    const first = await startGateway();
    const answer = connect(first.address).call(CALL);
    await until(() => router.calls.size === 1, 'a call');
    first.service.kill();
    await first.service.exited;
    const settled = router.settle(onlyCall());
    await startGateway({ TOOLFABRIC_GATEWAY_PORT: first.port });
    expect(await answer).toStrictEqual(settled);
  });

  it('OP-3: on SIGTERM it answers its waiting callers and ends with 0', async () => {
    const { service, address } = await startGateway();
    const answer = connect(address).call(CALL, { waitMs: 1_500, timeoutMs: 2_000 });
    await until(() => router.calls.size === 1, 'a call');
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await answer).toMatchObject({ callId: onlyCall(), state: 'queued' });
  });

  it('keeps its callers through the death of the bus', async () => {
    const { address } = await startGateway();
    const answer = connect(address).call(CALL);
    await until(() => router.calls.size === 1, 'a call');
    await nats.kill();
    const settled = router.settle(onlyCall(), 'ok', true);
    await nats.restart();
    expect(await answer).toStrictEqual(settled);
  });

  it('RS-4: results and watches of another actor do not exist', async () => {
    const { address } = await startGateway();
    const { callId } = await connect(address).startCall(CALL);
    const other = connect(address, bob.token);
    await expect(other.getCall(callId)).rejects.toMatchObject({ type: 'not_found' });
    await expect(other.cancelCall(callId)).rejects.toMatchObject({ type: 'not_found' });
    await expect(other.watchCall(callId).next()).rejects.toMatchObject({ type: 'not_found' });
  });

  it('answers its health port, and logs no token', async () => {
    const { service, address } = await startGateway({ TOOLFABRIC_HEALTH_PORT: '0' });
    const health = JSON.parse(service.log.find((line) => line.includes('"event":"health"')) ?? '{}');
    for (const path of ['healthz', 'readyz']) {
      expect((await fetch(`http://${health.address}/${path}`)).status).toBe(200);
    }
    await connect(address).startCall(CALL);
    await expect(connect(address, 'tf_wrong').startCall(CALL)).rejects.toMatchObject({ type: 'unauthenticated' });
    expect(service.log.join('\n')).not.toContain('tf_');
  });

  it.each([
    ['without tokens', { TOOLFABRIC_TOKENS_FILE: '/nowhere/tokens.json' }],
    ['beyond loopback in the clear', { TOOLFABRIC_GATEWAY_HOST: '0.0.0.0' }],
    ['with a key that the bus does not know', { TOOLFABRIC_NKEY_SEED_FILE: files.strangerSeed }],
  ])('does not start %s', async (_what, env) => {
    await expect(startGateway(env)).rejects.toThrow('before it was ready');
    expect(await services[0]?.exited).toMatchObject({ code: 1 });
  });
});
