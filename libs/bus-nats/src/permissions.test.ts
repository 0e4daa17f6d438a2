import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectGateway } from './connect-gateway.ts';
import { connectLedger } from './connect-ledger.ts';
import { connectTraceWriter } from './connect-trace-writer.ts';
import { connectWorker } from './connect-worker.ts';
import { generateBusKeys } from './nkeys.ts';
import { permissionsFor } from './permissions.ts';
import { eventStream } from './subjects.ts';
import { FORBIDDEN_HEARING, FORBIDDEN_REQUESTS } from './testing/forbidden-subjects.ts';
import { RawUser, TemporaryServer } from './testing/index.ts';
import { waitFor } from './testing/wait-for.ts';

let server: TemporaryServer;
const raw: Record<string, RawUser> = {};

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'] });
  for (const user of [
    'router',
    'gateway',
    'artifacts',
    'egress',
    'trace-writer',
    'worker-cli',
    'worker-web',
    'provisioner',
  ]) {
    raw[user] = await server.rawUser(user);
  }
});
afterAll(async () => {
  for (const user of Object.values(raw)) await user.close();
  await server.stop();
});

const as = (user: string): RawUser => {
  const found = raw[user];
  if (found === undefined) throw new Error(user);
  return found;
};

/** Messages in every stream, so that "stored nothing" is seen from the outside. */
const stored = async (): Promise<Record<string, number>> => {
  const provisioner = await server.provisioner();
  const fill = await provisioner.fill();
  await provisioner.close();
  return Object.fromEntries(fill.map(({ stream, messages }) => [stream, messages]));
};

const ID = '2969-0123456789abcdefghjkmnpqrs';
const GET = JSON.stringify({ seq: 1 });

const pairs = (table: Record<string, string[]>) =>
  Object.entries(table).flatMap(([user, subjects]) => subjects.map((subject): [string, string] => [user, subject]));

describe('least rights on the bus', () => {
  it.each(pairs(FORBIDDEN_REQUESTS))('%s may not send %s', async (user, subject) => {
    const { attempt } = await as(user).request(subject, GET, 1500);
    expect(attempt).toBe('forbidden');
  });

  it.each(pairs(FORBIDDEN_HEARING))('%s may not hear %s', async (user, subject) => {
    expect(await as(user).subscribe(subject)).toBe('forbidden');
  });

  it.each([
    ['worker-cli', 'control.cli.*'],
    ['worker-cli', '_INBOX_worker-cli.x'],
    ['gateway', 'settled.*.*'],
    ['gateway', 'progress.*.acme.x'],
    ['router', 'rpc.router.*'],
    ['trace-writer', 'rpc.trace.*'],
    ['trace-writer', '_INBOX_trace-writer.x'],
    ['artifacts', '_INBOX_artifacts.x'],
    ['egress', 'rpc.egress.*'],
    ['egress', 'door.*.close'],
    ['egress', 'bell.egress.all'],
    ['egress', '_INBOX_egress.x'],
  ])('%s may hear %s', async (user, subject) => {
    expect(await as(user).subscribe(subject)).toBe('allowed');
  });

  it('nothing of all that was stored', async () => {
    expect(Object.values(await stored()).every((messages) => messages === 0)).toBe(true);
  });

  it('a service cannot delete or purge through a consumer’s acknowledge subject of another stream', async () => {
    const attempt = await as('worker-cli').publish('$JS.ACK.WORK_WEB.hi.1.1.1.1.0', '+TERM');
    expect(attempt).toBe('forbidden');
  });

  it('gives nobody the whole stream interface', () => {
    const granted = permissionsFor(['cli']).flatMap(({ users }) => users.flatMap(({ publish }) => publish));
    for (const tooMuch of ['>', '$JS.>', '$JS.API.>', '$JS.API.STREAM.>', '$JS.API.CONSUMER.>', '$KV.>', 'api.>']) {
      expect(granted).not.toContain(tooMuch);
    }
  });

  it('lets nobody in without a key, nor with a key that it does not know', async () => {
    const strange = generateBusKeys(['cli']).seeds['router'] ?? '';
    await expect(RawUser.connect(server.url, 'router', strange)).rejects.toMatchObject({ name: 'AuthorizationError' });
    await expect(RawUser.connectAnonymous(server.url)).rejects.toMatchObject({ name: 'AuthorizationError' });
    await expect(connectLedger({ ...server.configFor('router'), nkeySeed: strange })).rejects.toThrow(/authorization/i);
  });
});

describe('the reply subject of a request', () => {
  /** Subjects of CORE that an attacker would like the server to write to. */
  const TARGETS = [
    'work.cli.hi.acme',
    'work.web.hi.acme',
    `$KV.LEDGER_1.call.1.acme.${ID}`,
    '$KV.APPROVALS.approval.acme.x',
    'result.web.acme.x.1',
    'event.router.acme',
    'dead.web.acme',
    '$KV.DOOR_FLOORS.floor.acme.x',
    '$KV.VAULT.credential.acme.x',
    '$JS.API.STREAM.PURGE.WORK_CLI',
    '$JS.API.STREAM.DELETE.KV_LEDGER_1',
  ];
  const REQUESTS: [string, string, string][] = [
    ['worker-cli', 'api.CONSUMER.MSG.NEXT.WORK_CLI.hi', JSON.stringify({ batch: 1, no_wait: true })],
    ['worker-cli', 'api.CONSUMER.MSG.NEXT.WORK_CLI.pin-p0', JSON.stringify({ batch: 1, no_wait: true })],
    ['worker-cli', 'api.STREAM.MSG.GET.KV_CLAIM_CLI_1', GET],
    ['worker-cli', 'event.worker-cli.acme', '{}'],
    ['gateway', 'event.gateway.acme', '{}'],
    ['gateway', 'rpc.router.call', '{}'],
    ['gateway', 'rpc.trace.getTrace', '{}'],
    ['gateway', 'rpc.egress.listCredentials', '{}'],
    ['artifacts', 'event.artifacts.acme', '{}'],
    ['egress', 'api.STREAM.MSG.GET.KV_VAULT', GET],
    ['egress', 'api.STREAM.MSG.GET.KV_DOOR_FLOORS', GET],
    ['egress', 'api.STREAM.INFO.KV_CREDENTIALS', ''],
    ['egress', 'event.egress.acme', '{}'],
    ['trace-writer', 'api.CONSUMER.MSG.NEXT.EVENTS_GATEWAY.trace', JSON.stringify({ batch: 1, no_wait: true })],
    ['trace-writer', 'api.CONSUMER.INFO.EVENTS.trace', ''],
  ];

  it.each(REQUESTS)('%s gets nothing stored by asking %s with a foreign one', async (user, subject, body) => {
    const router = await connectLedger(server.configFor('router'));
    router.serve(async () => '{"answer":true}');
    const tracer = await connectTraceWriter(server.configFor('trace-writer'), ['cli', 'web']);
    tracer.serve(async () => '{"answer":true}');
    await router.work.publish('cli', 'work.cli.hi.acme', `bait-${subject}-${user}`, Buffer.from('bait'));
    const before = await stored();
    for (const target of TARGETS) await as(user).publish(subject, body, target);
    await as(user).flush();
    const after = await stored();
    // Its own events are the sender's to write; the router's stand in another stream.
    const own = eventStream(user);
    const written = subject.startsWith('event.') ? { [own]: (before[own] ?? 0) + TARGETS.length } : {};
    expect(after).toEqual({ ...before, ...written });
    await router.close();
    await tracer.close();
  });

  it('a worker writes at most into its own kind by it', async () => {
    const before = await stored();
    const target = `result.cli.acme.${ID}.1`;
    await as('worker-cli').publish('api.STREAM.MSG.GET.KV_CLAIM_CLI_1', GET, target);
    await as('worker-cli').flush();
    const after = await stored();
    const changed = Object.keys(after).filter((stream) => after[stream] !== before[stream]);
    expect(changed.filter((stream) => stream !== 'RESULTS_CLI')).toEqual([]);
  });
});

describe('what each service may do', () => {
  it('a worker does all of its work from an account without streams', async () => {
    const router = await connectLedger(server.configFor('router'));
    const worker = await connectWorker(server.configFor('worker-web'), 'web');
    const gateway = await connectGateway(server.configFor('gateway'));
    const heard: string[] = [];
    worker.onBell((callId) => heard.push(`bell ${callId}`));
    gateway.watchProgress('acme', ID, ({ message, fraction }) => heard.push(`progress ${message} ${fraction}`));
    await worker.lives.create('live.web.w1', {
      incarnation: 'w1',
      state: 'alive',
      beat: 1,
      slots: 1,
      handlers: [],
      isolation: [],
    });
    await router.work.publish('web', 'work.web.lo.acme', 'm1', Buffer.from('job'));
    const stop = new AbortController();
    const running = worker.source.run(
      1,
      async (delivery) => {
        heard.push(`work ${delivery.subject} ${Buffer.from(delivery.data).toString()}`);
        delivery.working();
        await delivery.ackSync();
        stop.abort();
      },
      stop.signal,
    );
    await running;
    await worker.deadLetter('acme', { reason: 'r', subject: 's', excerpt: '', sequence: 1, by: 'w1', at: 1 });
    await worker.events.store({
      id: 'e1',
      type: 'message.refused',
      service: 'worker-web',
      tenant: 'acme',
      at: 1,
      attributes: {},
    });
    await waitFor(() => {
      router.bells.ring('web', ID);
      worker.progress('acme', ID, 'half', 0.5);
      return heard.includes(`bell ${ID}`) && heard.includes('progress half 0.5');
    });
    expect(heard).toContain('work work.web.lo.acme job');
    const messages = await stored();
    expect(messages['WORK_WEB']).toBe(0);
    expect(messages['DEAD']).toBe(1);
    for (const bus of [worker, router, gateway]) await bus.close();
  });

  it('workers of one kind hear the bells of that kind only', async () => {
    const router = await connectLedger(server.configFor('router'));
    const cli = await connectWorker(server.configFor('worker-cli'), 'cli');
    const web = await connectWorker(server.configFor('worker-web'), 'web');
    const heard: string[] = [];
    cli.onBell((callId) => heard.push(`cli ${callId}`));
    web.onBell((callId) => heard.push(`web ${callId}`));
    await waitFor(() => {
      router.bells.ring('cli', 'a');
      return heard.includes('cli a');
    });
    expect(heard.every((line) => line === 'cli a')).toBe(true);
    for (const bus of [cli, web, router]) await bus.close();
  });
});
