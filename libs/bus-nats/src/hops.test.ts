import type { Claim, FabricEvent, LifeSign, ResultMessage } from '@toolfabric/contract';
import type { Delivery } from '@toolfabric/ports';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectGateway, type GatewayBus } from './connect-gateway.ts';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { connectTraceWriter, type TraceWriterBus } from './connect-trace-writer.ts';
import { connectWorker, type WorkerBus } from './connect-worker.ts';
import { createEventLog, eventPlace } from './event-log.ts';
import { HopSeals } from './hop-seal.ts';
import { resultPlace } from './results.ts';
import { answerPlace, questionPlace, sealQuestion } from './serve-requests.ts';
import {
  bellPlace,
  bucketPrefix,
  bucketStream,
  claimBucket,
  controlSubject,
  eventSubject,
  IMPORTED_API,
  lifeBucket,
  messageGetSubject,
  noticePlace,
  progressSubject,
  RPC_PREFIX,
  resultSubject,
  settledSubject,
} from './subjects.ts';
import { type RawUser, TemporaryServer, waitFor } from './testing/index.ts';

/** Everybody here holds the key that lets them publish; what they lack is the code. */
let server: TemporaryServer;
let router: LedgerBus;
let gateway: GatewayBus;
let worker: WorkerBus;
let tracer: TraceWriterBus;
const raw: Record<string, RawUser> = {};
const refused: string[] = [];
const taken: string[] = [];
const stop = new AbortController();
const feeding: Promise<void>[] = [];

const sealsOf = (user: string) =>
  new HopSeals({ user, nkeySeed: server.keys.seeds[user] ?? '', publicKeys: server.keys.publicKeys });
const take = async (delivery: Delivery) => {
  taken.push(Buffer.from(delivery.data).toString('utf8'));
  delivery.ack();
};

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'] });
  router = await connectLedger(server.configFor('router'));
  gateway = await connectGateway(server.configFor('gateway'));
  worker = await connectWorker(server.configFor('worker-cli'), 'cli');
  tracer = await connectTraceWriter(server.configFor('trace-writer'), ['cli', 'web']);
  for (const [name, bus] of Object.entries({ router, gateway, worker, tracer }))
    bus.onRefused((hop) => refused.push(`${name} ${hop}`));
  for (const user of ['router', 'gateway', 'worker-cli', 'worker-web']) raw[user] = await server.rawUser(user);
  feeding.push(router.resultFeed('cli').run(16, take, stop.signal));
  feeding.push(tracer.feed.run({ inFlight: 16, ahead: 8, everyMs: 50, hasRoom: () => true }, take, stop.signal));
});
beforeEach(() => {
  refused.splice(0);
  taken.splice(0);
});
afterAll(async () => {
  stop.abort();
  await Promise.all(feeding);
  await Promise.all([router.close(), gateway.close(), worker.close(), tracer.close()]);
  await server.stop();
});

const ID = (n: number) => `2969-${String(n).padStart(26, '0')}`;
const result = (callId: string): ResultMessage => ({
  callId,
  tenant: 'acme',
  epoch: 1,
  by: 'cli-1',
  outcome: { status: 'ok', summary: 'forged', sideEffect: 'none', trust: 'trusted' },
});
const claim: Claim = {
  state: 'done',
  epoch: 1,
  sequence: 7,
  incarnation: 'cli-1',
  nonce: 'n',
  cancelRequested: false,
};
const event = (id: string): FabricEvent => ({
  id,
  type: 'call.settled',
  service: 'worker-cli',
  tenant: 'acme',
  at: 1,
  attributes: {},
});
const said = async (text: string) => waitFor(async () => refused.includes(text));

describe('OP-6: what has no code of its sender is not believed', () => {
  it('a request: answered as of nobody, and not looked at', async () => {
    const verbs: string[] = [];
    const serving = router.serve(async (verb) => {
      verbs.push(verb);
      return '{}';
    });
    const other = sealsOf('worker-cli');
    const forms = [
      '{"actor":{}}',
      other.with('router').close(questionPlace(`${RPC_PREFIX}call`), '{}'),
      sealsOf('gateway')
        .with('router')
        .close(questionPlace(`${RPC_PREFIX}getCall`), '{}'),
    ];
    for (const body of forms) {
      const { attempt, text } = await (raw['gateway'] as RawUser).request(`${RPC_PREFIX}call`, body, 2_000);
      expect(attempt).toBe('answered');
      expect(text).toContain('unauthenticated');
    }
    expect(verbs).toEqual([]);
    expect(refused).toEqual(['router request', 'router request', 'router request']);
    expect(await gateway.request('call', '{}', 2_000)).toBe('{}');
    expect(verbs).toEqual(['call']);
    serving();
  });

  it('an answer: taken for none, also when it is one to another question', async () => {
    const forger = await server.rawUser('router');
    const seal = sealsOf('router').with('gateway');
    const replies = ['{"stolen":1}', seal.close(`answer ${RPC_PREFIX}getCall ${'A'.repeat(43)}`, '{"stolen":1}')];
    for (const reply of replies) {
      const answering = await forger.answer(`${RPC_PREFIX}getCall`, reply);
      await expect(gateway.request('getCall', '{}', 2_000)).rejects.toThrow('no router answered');
      answering();
    }
    expect(refused).toEqual(['gateway answer', 'gateway answer']);
  });

  it('a true answer: is one to its own question only, and none to the same one put again', async () => {
    const [subject, seal] = [`${RPC_PREFIX}call`, sealsOf('gateway').with('router')];
    const serving = router.serve(async (_, body) => `{"of":${body}}`);
    const forger = await server.rawUser('router');
    const question = sealQuestion(seal, subject, '{"first":1}');
    const { text: recorded } = await (raw['gateway'] as RawUser).request(subject, question, 2_000);
    const opened = seal.open(answerPlace(subject, question), Buffer.from(recorded));
    expect(opened?.toString()).toBe('{"of":{"first":1}}');
    serving();
    const answering = await forger.answer(subject, recorded);
    for (const body of ['{"second":1}', '{"first":1}'])
      await expect(gateway.request('call', body, 2_000)).rejects.toThrow('no router answered');
    answering();
    expect(refused).toEqual(['gateway answer', 'gateway answer']);
    await forger.close();
  });

  it('a result: settles nothing, whoever of the account publishes it', async () => {
    const plain = JSON.stringify(result(ID(1)));
    await (raw['worker-cli'] as RawUser).request(resultSubject('cli', 'acme', ID(1), 1), plain, 2_000);
    await said('router result');
    const moved = sealsOf('worker-cli')
      .with('router')
      .close(resultPlace(resultSubject('cli', 'acme', ID(3), 1)), plain);
    await (raw['worker-cli'] as RawUser).request(resultSubject('cli', 'acme', ID(2), 1), moved, 2_000);
    await waitFor(async () => refused.length === 2);
    await expect(router.results.get('cli', 'acme', ID(1), 1)).rejects.toMatchObject({ type: 'malformed_message' });
    expect(taken).toEqual([]);
    await worker.results.createOnce('cli', result(ID(4)));
    await waitFor(async () => taken.length === 1);
    expect(JSON.parse(taken[0] ?? '')).toEqual(result(ID(4)));
    expect(await router.results.get('cli', 'acme', ID(4), 1)).toEqual(result(ID(4)));
  });

  it('a claim and a life sign: cannot be read, by the router nor by another worker', async () => {
    const place = `${bucketPrefix(claimBucket('cli', 1))}claim.cli.1.acme.${ID(1)}`;
    await (raw['worker-cli'] as RawUser).request(place, JSON.stringify(claim), 2_000);
    for (const claims of [router.claims('cli'), worker.claims])
      await expect(claims.get(`claim.cli.1.acme.${ID(1)}`)).rejects.toMatchObject({ type: 'internal' });
    const life: LifeSign = {
      kind: 'cli',
      incarnation: 'i',
      state: 'alive',
      handlers: [],
      isolation: [],
      renewedAt: 1,
    } as never;
    await (raw['worker-cli'] as RawUser).request(
      `${bucketPrefix(lifeBucket('cli'))}live.cli.i`,
      JSON.stringify(life),
      2_000,
    );
    await expect(router.lives('cli').get('live.cli.i')).rejects.toMatchObject({ type: 'internal' });
    expect(refused).toEqual(['router record', 'worker record', 'router record']);
  });

  it('a claim that was moved to another call: cannot be read there', async () => {
    const key = (n: number) => `claim.cli.1.acme.${ID(n)}`;
    await worker.claims.create(key(10), claim);
    const from = `${bucketPrefix(claimBucket('cli', 1))}${key(10)}`;
    const asked = messageGetSubject(IMPORTED_API, bucketStream(claimBucket('cli', 1)));
    const stored = await (raw['worker-cli'] as RawUser).request(asked, JSON.stringify({ last_by_subj: from }), 2_000);
    const copy = Buffer.from(JSON.parse(stored.text).message.data, 'base64').toString('utf8');
    const to = `${bucketPrefix(claimBucket('cli', 1))}${key(11)}`;
    await (raw['worker-cli'] as RawUser).request(to, copy, 2_000);
    expect((await router.claims('cli').get(key(10)))?.value).toEqual(claim);
    await expect(router.claims('cli').get(key(11))).rejects.toMatchObject({ type: 'internal' });
  });

  it('an event: is not written', async () => {
    const subject = eventSubject('worker-cli', 'acme');
    const web = sealsOf('worker-web')
      .with('trace-writer')
      .close(eventPlace(subject), JSON.stringify(event('forged-2')));
    for (const body of [JSON.stringify(event('forged-1')), web])
      await (raw['worker-cli'] as RawUser).publish(subject, body);
    await waitFor(async () => refused.length === 2);
    worker.events.emit(event('true'));
    await waitFor(async () => taken.length === 1);
    expect(taken[0]).toContain('"true"');
    expect(refused).toEqual(['tracer event', 'tracer event']);
  });

  it('a true event that was moved to another tenant: is not written', async () => {
    const recorded: string[] = [];
    const ear = await server.rawUser('worker-cli');
    const [from, to] = ['acme', 'other'].map((tenant) => eventSubject('worker-cli', tenant)) as [string, string];
    const wire = createEventLog(
      { publish: (_subject: string, text: string) => void recorded.push(text) } as never,
      sealsOf('worker-cli').with('trace-writer'),
    );
    wire.emit(event('moved'));
    await ear.publish(to, recorded[0]);
    await waitFor(async () => refused.length === 1);
    await ear.publish(from, recorded[0]);
    await waitFor(async () => taken.length === 1);
    expect(refused).toEqual(['tracer event']);
    await ear.close();
  });

  it('a notice of an end, a line of progress and a bell: are dropped', async () => {
    const heard: unknown[] = [];
    gateway.onSettled((notice) => heard.push(notice));
    gateway.watchProgress('acme', ID(1), (notice) => heard.push(notice));
    worker.onBell((text) => heard.push(text));
    const bell = controlSubject('cli', 'all');
    const hears = (what: unknown) => heard.some((one) => JSON.stringify(one).includes(String(what)));
    // The true ones first, until they are heard: from then on everybody listens.
    await waitFor(() => {
      worker.progress('acme', ID(1), 'half', 0.5);
      router.bells.ring('cli', ID(2));
      router.settled({
        actor: { tenant: 'acme', user: 'ann', agent: 'bot' },
        view: { callId: ID(1), state: 'ok' },
      } as never);
      return hears('half') && hears(ID(2)) && refused.length === 0;
    });
    await (raw['router'] as RawUser).publish(settledSubject('acme', ID(1)), '{}');
    await (raw['worker-cli'] as RawUser).publish(progressSubject('cli', 'acme', ID(1)), '{"callId":"x"}');
    await (raw['router'] as RawUser).publish(bell, ID(1));
    await (raw['router'] as RawUser).publish(bell, sealsOf('worker-cli').with('gateway').close(bellPlace(bell), 'x'));
    await waitFor(() => refused.length === 4);
    expect(refused.toSorted()).toEqual(['gateway notice', 'gateway notice', 'worker bell', 'worker bell']);
    for (const forged of [ID(1), 'x']) expect(heard).not.toContain(forged);
    expect(JSON.stringify(heard)).not.toContain('"callId":"x"');
    expect(noticePlace('a')).not.toBe(bellPlace('a'));
  });
});
