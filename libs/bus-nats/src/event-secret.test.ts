import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectLedger } from './connect-ledger.ts';
import { connectWorker } from './connect-worker.ts';
import { EVENT_STREAM } from './subjects.ts';
import { TemporaryServer } from './testing/index.ts';

let server: TemporaryServer;
beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli'] });
});
afterAll(() => server.stop());

const count = async (): Promise<number> => {
  const provisioner = await server.provisioner();
  const fill = await provisioner.fill();
  await provisioner.close();
  return fill.find(({ stream }) => stream === EVENT_STREAM)?.messages ?? 0;
};

it('OP-6: no other service can make an event of the router pass for a duplicate, or push it out', async () => {
  const router = await connectLedger({ ...server.configFor('router'), eventSecret: 'known to routers' });
  const worker = await connectWorker(server.configFor('worker-cli'), 'cli');
  const event = { id: 'c:settled.ok', type: 'call.settled', tenant: 'acme', at: 1, attributes: {} } as const;
  await worker.events.store({ ...event, service: 'worker-cli' });
  expect(await count()).toBe(0);
  await router.events.store({ ...event, service: 'router' });
  await router.events.store({ ...event, service: 'router' });
  expect(await count()).toBe(1);
  await Promise.all([router.close(), worker.close()]);
});
