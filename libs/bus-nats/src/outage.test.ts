import type { Claim, TaskRecord } from '@toolfabric/contract';
import { RequestUnanswered, StoreUnavailable } from '@toolfabric/ports';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectGateway } from './connect-gateway.ts';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectWorker } from './connect-worker.ts';
import { generateBusKeys } from './nkeys.ts';
import { TemporaryServer } from './testing/index.ts';
import { waitFor } from './testing/wait-for.ts';

let server: TemporaryServer;
let router: LedgerBus;
const opened: { close(): Promise<void> }[] = [];
const keep = <T extends { close(): Promise<void> }>(bus: T): T => {
  opened.push(bus);
  return bus;
};

beforeEach(async () => {
  server = await TemporaryServer.start({ kinds: ['cli'] });
  router = keep(await connectLedger({ ...server.configFor('router'), requestTimeoutMs: 700 }));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((bus) => bus.close()));
  await server.stop();
});

const task: TaskRecord = {
  taskId: `t-${'0'.repeat(26)}`,
  actor: { tenant: 'acme', user: 'ann', agent: 'bot' },
  title: 'x',
  state: 'open',
  createdAt: 1,
};
const claim: Claim = {
  state: 'claimed',
  epoch: 1,
  sequence: 1,
  incarnation: 'w',
  nonce: 'n',
  cancelRequested: false,
};

const everyVerb = (bus: LedgerBus) => [
  bus.tasks.get('task.acme.a'),
  bus.tasks.create('task.acme.b', task),
  bus.tasks.update('task.acme.a', task, 1),
  bus.tasks.remove('task.acme.a', 1),
  bus.tasks.keys('task'),
  bus.tasks.lastRevision(),
  bus.work.publish('cli', 'work.cli.hi.acme', 'm', Buffer.from('x')),
  bus.work.has('cli', 1),
  bus.results.get('cli', 'acme', 'a', 1),
  bus.events.store({ id: 'e', type: 'call.accepted', service: 'router', tenant: 'acme', at: 1, attributes: {} }),
];

describe('without an answering server', () => {
  it('every verb ends as unavailable while the server is gone, and works again after its restart', async () => {
    await server.kill();
    for (const settled of await Promise.allSettled(everyVerb(router))) {
      expect(settled.status).toBe('rejected');
      if (settled.status === 'rejected') expect(settled.reason).toBeInstanceOf(StoreUnavailable);
    }
    await server.restart();
    await waitFor(async () => (await router.tasks.get('task.acme.a').catch(() => 'down')) === undefined);
    await router.tasks.create('task.acme.c', task);
  });

  it('every verb ends as unavailable while the server is stopped in the middle', async () => {
    await server.pause();
    for (const settled of await Promise.allSettled(everyVerb(router))) {
      expect(settled.status).toBe('rejected');
      if (settled.status === 'rejected') expect(settled.reason).toBeInstanceOf(StoreUnavailable);
    }
    server.resume();
    await waitFor(async () => (await router.tasks.get('task.acme.a').catch(() => 'down')) !== 'down');
  });

  it('a request in flight ends as soon as the connection breaks, not with its timeout', async () => {
    const slow = keep(await connectLedger({ ...server.configFor('router'), requestTimeoutMs: 60_000 }));
    await server.pause();
    const writing = slow.tasks.create('task.acme.d', task);
    writing.catch(() => {});
    await server.kill();
    await expect(writing).rejects.toBeInstanceOf(StoreUnavailable);
    await server.restart();
  });

  it('a read survives a restart of the server within its time', async () => {
    const patient = keep(await connectLedger({ ...server.configFor('router'), requestTimeoutMs: 20_000 }));
    const revision = await patient.tasks.create('task.acme.e', task);
    await server.pause();
    const reading = patient.tasks.get('task.acme.e');
    await server.kill();
    await server.restart();
    expect(await reading).toEqual({ value: task, revision });
  });

  it('what was answered is there after SIGKILL and restart', async () => {
    const worker = keep(await connectWorker(server.configFor('worker-cli'), 'cli'));
    const keys = Array.from({ length: 50 }, (_, n) => `claim.cli.1.acme.k${n}`);
    await Promise.all(keys.map((key) => worker.claims.create(key, claim)));
    await server.kill();
    await server.restart();
    await waitFor(
      async () =>
        (
          await router
            .claims('cli')
            .keys('claim.cli.1')
            .catch(() => [])
        ).length === keys.length,
    );
  });

  it('a connection cannot be opened without a server, and says so in time', async () => {
    await server.kill();
    const opening = connectLedger({ ...server.configFor('router'), connectTimeoutMs: 300 });
    await expect(opening).rejects.toBeInstanceOf(StoreUnavailable);
    await server.restart();
  });

  it('the connection is over for good when the server does not know its key any more', async () => {
    await server.kill();
    await server.writeConfig(generateBusKeys(['cli']).publicKeys);
    await server.restart();
    expect(await router.closed).toMatch(/authorization/i);
    await expect(router.tasks.get('task.acme.a')).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it('closes at once while there is no server, twice without harm, and then refuses', async () => {
    await server.kill();
    await router.close();
    await router.close();
    expect(await router.closed).toBeTypeOf('string');
    await expect(router.tasks.get('task.acme.a')).rejects.toBeInstanceOf(StoreUnavailable);
    await server.restart();
  });
});

describe('requests of the gateway', () => {
  it('go to one of the routers and come back', async () => {
    const second = keep(await connectLedger(server.configFor('router')));
    const served = [0, 0];
    router.serve(async (verb, body) => {
      served[0] = (served[0] ?? 0) + 1;
      return `${verb}:${body}`;
    });
    second.serve(async (verb, body) => {
      served[1] = (served[1] ?? 0) + 1;
      return `${verb}:${body}`;
    });
    const gateway = keep(await connectGateway(server.configFor('gateway')));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => gateway.request('getCall', `{"n":${n}}`, 5_000)),
    );
    expect(answers).toEqual(Array.from({ length: 40 }, (_, n) => `getCall:{"n":${n}}`));
    expect((served[0] ?? 0) + (served[1] ?? 0)).toBe(40);
  });

  it('stay unanswered when no router listens, within their time', async () => {
    const gateway = keep(await connectGateway(server.configFor('gateway')));
    await expect(gateway.request('call', '{}', 200)).rejects.toBeInstanceOf(RequestUnanswered);
  });

  it('stay unanswered when the server dies, and are answered after its restart', async () => {
    router.serve(async () => 'yes');
    const gateway = keep(await connectGateway(server.configFor('gateway')));
    expect(await gateway.request('call', '{}', 5_000)).toBe('yes');
    await server.kill();
    await expect(gateway.request('call', '{}', 200)).rejects.toBeInstanceOf(RequestUnanswered);
    await server.restart();
    await waitFor(async () => (await gateway.request('call', '{}', 500).catch(() => '')) === 'yes');
  });

  it('hears settlements of every tenant', async () => {
    const gateway = keep(await connectGateway(server.configFor('gateway')));
    const heard: string[] = [];
    gateway.onSettled(({ actor, view }) => heard.push(`${actor.tenant} ${view.callId}`));
    const view = {
      callId: 'c1',
      state: 'ok',
      taskId: 't',
      tool: { name: 'a.b', version: '1.0.0' },
      createdAt: 1,
    } as const;
    await waitFor(() => {
      router.settled({ actor: task.actor, view });
      router.settled({ actor: { ...task.actor, tenant: 'other' }, view });
      return heard.includes('acme c1') && heard.includes('other c1');
    });
  });
});
