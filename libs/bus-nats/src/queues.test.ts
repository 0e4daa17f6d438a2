import type { ResultMessage, TaskRecord } from '@toolfabric/contract';
import { QueueFull, StoreUnavailable } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectWorker, type WorkerBus } from './connect-worker.ts';
import { TemporaryServer } from './testing/index.ts';
import { waitFor } from './testing/wait-for.ts';

let server: TemporaryServer;
let router: LedgerBus;
let worker: WorkerBus;
const KIB = 1024;

beforeAll(async () => {
  server = await TemporaryServer.start({
    kinds: ['cli', 'web'],
    sizes: { work: 300 * KIB, workMessagesPerSubject: 4, results: 200 * KIB, tasks: 100 * KIB, events: 100 * KIB },
  });
  router = await connectLedger(server.configFor('router'));
  worker = await connectWorker(server.configFor('worker-cli'), 'cli');
});
afterAll(async () => {
  await worker.close();
  await router.close();
  await server.stop();
});

const result = (callId: string, summary = 'done', by = 'w1'): ResultMessage => ({
  callId,
  tenant: 'acme',
  epoch: 1,
  outcome: { status: 'ok', summary, sideEffect: 'none', trust: 'trusted' },
  by,
});
const publish = (tenant: string, id: string, bytes = 10, kind = 'cli') =>
  router.work.publish(kind, `work.${kind}.hi.${tenant}`, id, Buffer.alloc(bytes, 'x'));

describe('results', () => {
  it('RS-4: are created once, and the second writer gets the first one', async () => {
    expect(await worker.results.createOnce('cli', result('a'))).toEqual({ created: true, message: result('a') });
    expect(await worker.results.createOnce('cli', result('a', 'other', 'w2'))).toEqual({
      created: false,
      message: result('a'),
    });
    expect(await router.results.createOnce('cli', result('a', 'cancelled', 'router'))).toMatchObject({
      created: false,
    });
    expect(await router.results.get('cli', 'acme', 'a', 1)).toEqual(result('a'));
    expect(await router.results.get('cli', 'acme', 'a', 2)).toBeUndefined();
  });

  it('have exactly one creator among many, from two accounts', async () => {
    const tries = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? worker : router).results.createOnce('cli', result('b', `n${n}`))),
    );
    expect(tries.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(tries.map(({ message }) => message.outcome.summary)).size).toBe(1);
  });

  it('are still created once after the router has acknowledged them', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const feeding = router.resultFeed('web').run(
      8,
      async (delivery) => {
        seen.push(delivery.subject);
        await delivery.ackSync();
      },
      stop.signal,
    );
    await router.results.createOnce('web', result('c'));
    await waitFor(() => seen.includes('result.web.acme.c.1'));
    expect(await router.results.createOnce('web', result('c', 'again'))).toMatchObject({ created: false });
    stop.abort();
    await feeding;
  });

  it('a message on a result subject that is none is an error, not an absent result', async () => {
    const raw = await server.rawUser('worker-cli');
    await raw.request('result.cli.acme.junk.1', 'junk');
    await raw.close();
    await expect(router.results.get('cli', 'acme', 'junk', 1)).rejects.toMatchObject({ type: 'malformed_message' });
    await expect(worker.results.createOnce('cli', result('junk'))).rejects.toMatchObject({ type: 'malformed_message' });
  });

  it('a full stream of results drops the oldest and still takes new ones', async () => {
    for (let n = 0; n < 12; n += 1) {
      const large = result(`big${n}`);
      const message = { ...large, outcome: { ...large.outcome, data: 'x'.repeat(30 * KIB) } };
      expect(await worker.results.createOnce('cli', message)).toEqual({ created: true, message });
    }
    expect(await worker.results.get('cli', 'acme', 'big0', 1)).toBeUndefined();
    expect(await worker.results.get('cli', 'acme', 'big11', 1)).toBeDefined();
  });

  it.each([
    ['acme', 'a.b'],
    ['acme', '>'],
    ['a*', 'x'],
    ['', 'x'],
    ['acme', ''],
  ])('refuses the tenant %j with the call %j before it becomes a subject', async (tenant, callId) => {
    await expect(worker.results.get('cli', tenant, callId, 1)).rejects.toBeInstanceOf(RangeError);
  });
});

describe('result feed', () => {
  it('hands each result to one of two routers, bounded in flight', async () => {
    const second = await connectLedger(server.configFor('router'));
    const stop = new AbortController();
    const seen: string[] = [];
    let inFlight = 0;
    let most = 0;
    const feeds = [router, second].map((bus) =>
      bus.resultFeed('web').run(
        3,
        async (delivery) => {
          inFlight += 1;
          most = Math.max(most, inFlight);
          seen.push(delivery.subject);
          await delivery.ackSync();
          inFlight -= 1;
        },
        stop.signal,
      ),
    );
    await Promise.all(Array.from({ length: 60 }, (_, n) => second.results.createOnce('web', result(`f${n}`))));
    await waitFor(() => seen.length >= 60);
    expect(new Set(seen).size).toBe(60);
    expect(most).toBeLessThanOrEqual(6);
    stop.abort();
    await Promise.all(feeds);
    await second.close();
  });

  it('brings an unacknowledged result again', async () => {
    const stop = new AbortController();
    const counts: number[] = [];
    const feeding = router.resultFeed('web').run(
      2,
      async (delivery) => {
        counts.push(delivery.deliveryCount);
        if (counts.length > 1) await delivery.ackSync();
      },
      stop.signal,
    );
    await router.results.createOnce('web', result('twice'));
    await waitFor(() => counts.length === 2);
    expect(counts).toEqual([1, 2]);
    stop.abort();
    await feeding;
  });
});

describe('work', () => {
  it('the same message id is stored once and answers with the first sequence', async () => {
    const first = await publish('dedupe', 'call-1.1');
    expect(first.duplicate).toBe(false);
    expect(await publish('dedupe', 'call-1.1')).toEqual({ sequence: first.sequence, duplicate: true });
    expect((await publish('dedupe', 'call-1.2')).sequence).toBeGreaterThan(first.sequence);
  });

  it('shows whether a message is still there', async () => {
    const { sequence } = await publish('has', 'call-2.1', 10, 'web');
    expect(await router.work.has('web', sequence)).toBe(true);
    expect(await router.work.has('web', sequence + 1)).toBe(false);
    const web = await connectWorker(server.configFor('worker-web'), 'web');
    const stop = new AbortController();
    const running = web.source.run(
      1,
      async (delivery) => {
        expect(await router.work.has('web', delivery.sequence)).toBe(true);
        await delivery.ackSync();
        stop.abort();
      },
      stop.signal,
    );
    await running;
    expect(await router.work.has('web', sequence)).toBe(false);
    await web.close();
  });

  it('a full tenant is refused, the others are not, and the refused id may be used later', async () => {
    for (let n = 0; n < 4; n += 1) await publish('busy', `busy-${n}`);
    await expect(publish('busy', 'busy-4')).rejects.toBeInstanceOf(QueueFull);
    expect(await publish('calm', 'calm-1')).toMatchObject({ duplicate: false });
    const stop = new AbortController();
    const running = worker.source.run(
      1,
      async (delivery) => {
        await delivery.ackSync();
      },
      stop.signal,
    );
    await waitFor(async () => !(await publish('busy', 'busy-4').catch(() => ({ duplicate: true }))).duplicate);
    stop.abort();
    await running;
  });

  it('a full stream is refused for every tenant, while results and records are still written', async () => {
    const refusal = await (async () => {
      for (let n = 0; n < 20; n += 1) await publish(`t${n}`, `fill-${n}`, 30 * KIB);
    })().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(QueueFull);
    await expect(publish('newcomer', 'new-1', 30 * KIB)).rejects.toBeInstanceOf(QueueFull);
    expect(await worker.results.createOnce('cli', result('while-full'))).toMatchObject({ created: true });
    await router.leases.create('shard.1', { holder: 'r', beat: 1 });
  });

  it('a full store takes no record that is new or grows; those in it can be read, and those that shrink moved on', async () => {
    expect(await router.fill(['cli'])).toBeLessThan(0.1);
    const task = (n: number): TaskRecord => ({
      taskId: `t-${String(n).padStart(26, '0')}`,
      actor: { tenant: 'acme', user: 'u'.repeat(200), agent: 'a'.repeat(200) },
      title: 'x'.repeat(500),
      state: 'open',
      createdAt: 1,
    });
    const small = (n: number): TaskRecord => ({
      ...task(n),
      actor: { tenant: 'acme', user: 'u', agent: 'a' },
      title: '',
    });
    const fillWith = async (name: string, make: (n: number) => TaskRecord) => {
      for (let n = 0; n < 200; n += 1) await router.tasks.create(`task.acme.${name}${n}`, make(n));
    };
    await expect(fillWith('n', task)).rejects.toBeInstanceOf(StoreUnavailable);
    const refusal = await fillWith('small', small).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: 'StoreUnavailable', cause: expect.any(QueueFull) });
    const fill = await router.fill(['cli']);
    expect(fill).toBeGreaterThan(0.9);
    expect(fill).toBeLessThanOrEqual(1);
    const stored = await router.tasks.get('task.acme.n0');
    expect(stored?.value).toEqual(task(0));
    const revision = stored?.revision ?? 0;
    const grown = { ...task(0), workspace: { id: 'w', source: { type: 'existing' as const, path: 'x'.repeat(400) } } };
    await expect(router.tasks.update('task.acme.n0', grown, revision)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      cause: expect.any(QueueFull),
    });
    expect((await router.tasks.get('task.acme.n0'))?.revision).toBe(revision);
    await router.tasks.update('task.acme.n0', { ...task(0), title: 'shorter' }, revision);
  });

  it('refuses a subject of another kind', async () => {
    const sending = router.work.publish('cli', 'work.web.hi.acme', 'x', Buffer.from('x'));
    await expect(sending).rejects.toBeInstanceOf(RangeError);
  });
});

describe('events', () => {
  it('the same event is stored once, whether emitted or stored', async () => {
    const event = {
      id: 'same',
      type: 'call.accepted',
      service: 'router',
      tenant: 'acme',
      at: 1,
      attributes: {},
    } as const;
    const count = async () => {
      const provisioner = await server.provisioner();
      const fill = await provisioner.fill();
      await provisioner.close();
      return fill.find(({ stream }) => stream === 'EVENTS')?.messages;
    };
    router.events.emit(event);
    await router.events.store(event);
    await router.events.store(event);
    expect(await count()).toBe(1);
  });

  it('an event in the name of another service is not stored', async () => {
    const event = {
      id: 'x',
      type: 'call.accepted',
      service: 'gateway',
      tenant: 'acme',
      at: 1,
      attributes: {},
    } as const;
    await expect(router.events.store(event)).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
