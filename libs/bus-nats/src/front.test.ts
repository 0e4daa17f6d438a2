import { RING_SLOTS, WEEK_MS } from '@toolfabric/contract';
import { RequestUnanswered } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectGateway, type GatewayBus } from './connect-gateway.ts';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { TemporaryServer } from './testing/index.ts';

let server: TemporaryServer;
let router: LedgerBus;
let gateway: GatewayBus;

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli'] });
  router = await connectLedger(server.configFor('router'));
  gateway = await connectGateway(server.configFor('gateway'));
});
afterAll(async () => {
  await gateway.close();
  await router.close();
  await server.stop();
});

describe('requests of a gateway', () => {
  it('are answered by whoever serves, and by nobody after that', async () => {
    const stop = router.serve(async (verb, body) => `${verb}: ${body}`);
    expect(await gateway.request('call', 'x', 2_000)).toBe('call: x');
    stop();
    await expect(gateway.request('call', 'x', 300)).rejects.toBeInstanceOf(RequestUnanswered);
  });

  it.each<[string, () => Promise<string>]>([
    ['that is larger than a message', async () => 'x'.repeat(1_000_000)],
    ['that never comes about', async () => Promise.reject(new Error('broken'))],
  ])('an answer %s leaves its request alone unanswered: the router goes on', async (_name, answer) => {
    const stop = router.serve((verb) => (verb === 'getCall' ? answer() : Promise.resolve('fine')));
    await expect(gateway.request('getCall', '', 400)).rejects.toBeInstanceOf(RequestUnanswered);
    expect(await gateway.request('call', '', 2_000)).toBe('fine');
    expect(router.isConnected()).toBe(true);
    stop();
  });
});

describe('how full the records are', () => {
  it('is the greatest share of the streams that new calls go into, and unknown of a kind without any', async () => {
    const before = await router.fill(['cli']);
    expect(before).toBeGreaterThanOrEqual(0);
    await router.leases.create('shard.1', { holder: 'h'.repeat(20_000), beat: 1 });
    expect(await router.fill(['cli'])).toBe(before);
    const week = Math.floor(Date.now() / WEEK_MS);
    const key = `claim.cli.${week % RING_SLOTS}.acme.${week}-${'0'.repeat(26)}`;
    const claim = { epoch: 1, sequence: 1, incarnation: 'i', nonce: 'n', cancelRequested: false };
    await router.claims('cli').create(key, { ...claim, state: 'claimed', intent: 'x'.repeat(50_000) });
    const after = await router.fill(['cli']);
    expect(after).toBeGreaterThan(before);
    await expect(router.fill(['nobody'])).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });
});
