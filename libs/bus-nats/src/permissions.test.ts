import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectGateway } from './connect-gateway.ts';
import { connectLedger } from './connect-ledger.ts';
import { connectTraceWriter } from './connect-trace-writer.ts';
import { connectWorker } from './connect-worker.ts';
import { generateBusKeys } from './nkeys.ts';
import { permissionsFor } from './permissions.ts';
import { eventStream } from './subjects.ts';
import { RawUser, TemporaryServer } from './testing/index.ts';
import { waitFor } from './testing/wait-for.ts';

let server: TemporaryServer;
const raw: Record<string, RawUser> = {};

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'] });
  for (const user of ['router', 'gateway', 'artifacts', 'trace-writer', 'worker-cli', 'worker-web', 'provisioner']) {
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

/** Requests that a user must not even send. A `KV` or stream name of `web` is another kind's. */
const FORBIDDEN_REQUESTS: Record<string, string[]> = {
  'worker-cli': [
    'work.cli.hi.acme',
    'work.cli.pin.s1.acme',
    'work.web.hi.acme',
    `$KV.CLAIM_WEB_1.claim.web.1.acme.${ID}`,
    `$KV.CLAIM_CLI_1.claim.web.1.acme.${ID}`,
    `$KV.CLAIM_CLI_1.claim.cli.2.acme.${ID}`,
    `$KV.LEDGER_1.call.1.acme.${ID}`,
    `$KV.LEDGER_1.claim.cli.1.acme.${ID}`,
    `$KV.OPEN.open.1.acme.${ID}`,
    '$KV.OPS.op.x',
    '$KV.APPROVALS.approval.acme.x',
    '$KV.REGISTRY.tool.x',
    '$KV.TASKS.task.acme.x',
    '$KV.LEASES.shard.1',
    '$KV.LIVE_WEB.live.web.w1',
    'result.web.acme.x.1',
    'dead.web.acme',
    'event.router.acme',
    'event.gateway.acme',
    'event.worker-web.acme',
    'settled.acme.x',
    'control.cli.all',
    'control.web.all',
    'progress.web.acme.x',
    'rpc.router.call',
    'api.STREAM.MSG.GET.KV_LEDGER_1',
    'api.STREAM.MSG.GET.KV_CLAIM_WEB_1',
    'api.STREAM.MSG.GET.RESULTS_WEB',
    'api.STREAM.MSG.GET.WORK_CLI',
    'api.STREAM.MSG.DELETE.KV_CLAIM_CLI_1',
    'api.STREAM.INFO.KV_CLAIM_CLI_1',
    'api.CONSUMER.MSG.NEXT.WORK_WEB.hi',
    'api.CONSUMER.MSG.NEXT.WORK_WEB.pin-p0',
    'api.STREAM.MSG.DELETE.WORK_CLI',
    '$JS.API.CONSUMER.MSG.NEXT.WORK_CLI.pin-p0',
    '$JS.ACK.WORK_WEB.pin-p0.1.1.1.1.0',
    '$KV.LIVE_WEB.live.web.pin-p0',
    'api.CONSUMER.MSG.NEXT.RESULTS_CLI.router',
    'api.CONSUMER.MSG.NEXT.EVENTS.trace',
    'api.CONSUMER.MSG.NEXT.EVENTS_WORKER_CLI.trace',
    'rpc.trace.listCalls',
    'event.artifacts.acme',
    '$JS.API.CONSUMER.MSG.NEXT.WORK_CLI.hi',
    '$JS.API.STREAM.CREATE.MINE',
    '$JS.API.STREAM.DELETE.WORK_CLI',
    '$JS.API.STREAM.PURGE.WORK_CLI',
    '$JS.API.CONSUMER.CREATE.WORK_CLI',
    '$JS.API.CONSUMER.DURABLE.CREATE.WORK_CLI.mine',
    '$JS.API.INFO',
    '$JS.ACK.WORK_WEB.hi.1.1.1.1.0',
    '$JS.ACK.RESULTS_CLI.router.1.1.1.1.0',
    '$SYS.REQ.SERVER.PING',
    '_R_.x.y',
  ],
  gateway: [
    'work.cli.hi.acme',
    `$KV.LEDGER_1.call.1.acme.${ID}`,
    `$KV.CLAIM_CLI_1.claim.cli.1.acme.${ID}`,
    '$KV.APPROVALS.approval.acme.x',
    'result.cli.acme.x.1',
    'dead.cli.acme',
    'event.router.acme',
    'event.artifacts.acme',
    'event.worker-cli.acme',
    'api.CONSUMER.MSG.NEXT.EVENTS.trace',
    '$JS.ACK.EVENTS_GATEWAY.trace.1.1.1.1.0',
    'settled.acme.x',
    'progress.cli.acme.x',
    'control.cli.all',
    '$JS.API.STREAM.MSG.GET.KV_LEDGER_1',
    'api.STREAM.MSG.GET.KV_LEDGER_1',
    '$JS.API.CONSUMER.MSG.NEXT.RESULTS_CLI.router',
    '$JS.API.STREAM.CREATE.MINE',
    '$JS.API.CONSUMER.CREATE.WORK_CLI',
    '$JS.API.INFO',
    '_R_.x.y',
  ],
  artifacts: [
    'event.artifacts.acme.more',
    'event.router.acme',
    'event.gateway.acme',
    'event.worker-cli.acme',
    'event.trace-writer.acme',
    'work.cli.hi.acme',
    `$KV.LEDGER_1.call.1.acme.${ID}`,
    `$KV.CLAIM_CLI_1.claim.cli.1.acme.${ID}`,
    '$KV.TASKS.task.acme.x',
    'result.cli.acme.x.1',
    'dead.cli.acme',
    'settled.acme.x',
    'progress.cli.acme.x',
    'control.cli.all',
    'rpc.router.permitArtifact',
    'rpc.trace.getTrace',
    'api.STREAM.MSG.GET.EVENTS_ARTIFACTS',
    'api.CONSUMER.MSG.NEXT.EVENTS_ARTIFACTS.trace',
    'api.CONSUMER.INFO.EVENTS_ARTIFACTS.trace',
    '$JS.ACK.EVENTS_ARTIFACTS.trace.1.1.1.1.0',
    '$JS.API.STREAM.PURGE.EVENTS_ARTIFACTS',
    '$JS.API.INFO',
    '$SYS.REQ.SERVER.PING',
    '_R_.x.y',
  ],
  'trace-writer': [
    'event.router.acme',
    'event.gateway.acme',
    'event.artifacts.acme',
    'event.worker-cli.acme',
    'event.trace-writer.acme',
    'work.cli.hi.acme',
    `$KV.LEDGER_1.call.1.acme.${ID}`,
    `$KV.CLAIM_CLI_1.claim.cli.1.acme.${ID}`,
    '$KV.APPROVALS.approval.acme.x',
    '$KV.TASKS.task.acme.x',
    '$KV.LIVE_CLI.live.cli.w1',
    'result.cli.acme.x.1',
    'dead.cli.acme',
    'settled.acme.x',
    'progress.cli.acme.x',
    'control.cli.all',
    'rpc.router.call',
    'rpc.trace.getTrace',
    'api.CONSUMER.MSG.NEXT.WORK_CLI.hi',
    'api.CONSUMER.MSG.NEXT.RESULTS_CLI.router',
    'api.CONSUMER.MSG.NEXT.EVENTS.other',
    'api.CONSUMER.INFO.WORK_CLI.hi',
    'api.STREAM.INFO.EVENTS',
    'api.STREAM.MSG.GET.EVENTS',
    'api.STREAM.MSG.DELETE.EVENTS',
    'api.STREAM.PURGE.EVENTS',
    'api.CONSUMER.DURABLE.CREATE.EVENTS.trace',
    'api.CONSUMER.DELETE.EVENTS.trace',
    '$JS.API.CONSUMER.MSG.NEXT.EVENTS.trace',
    '$JS.API.STREAM.PURGE.EVENTS',
    '$JS.API.STREAM.DELETE.EVENTS',
    '$JS.ACK.WORK_CLI.hi.1.1.1.1.0',
    '$JS.ACK.RESULTS_CLI.router.1.1.1.1.0',
    '$JS.ACK.EVENTS.other.1.1.1.1.0',
    '$SYS.REQ.SERVER.PING',
  ],
  router: [
    '$JS.API.STREAM.CREATE.MINE',
    '$JS.API.STREAM.UPDATE.WORK_CLI',
    '$JS.API.STREAM.DELETE.WORK_CLI',
    '$JS.API.STREAM.PURGE.KV_LEDGER_1',
    '$JS.API.CONSUMER.CREATE.WORK_CLI',
    '$JS.API.CONSUMER.DURABLE.CREATE.WORK_CLI.mine',
    '$JS.API.CONSUMER.MSG.NEXT.WORK_CLI.hi',
    '$JS.API.STREAM.MSG.DELETE.KV_LEDGER_1',
    '$JS.API.STREAM.MSG.DELETE.KV_CLAIM_CLI_1',
    '$JS.API.STREAM.MSG.DELETE.KV_APPROVALS',
    '$JS.API.STREAM.MSG.DELETE.RESULTS_CLI',
    '$JS.API.CONSUMER.MSG.NEXT.WORK_CLI.pin-p0',
    '$JS.ACK.WORK_CLI.pin-p0.1.1.1.1.0',
    '$JS.API.STREAM.MSG.DELETE.EVENTS',
    'event.gateway.acme',
    'event.worker-cli.acme',
    'event.artifacts.acme',
    'rpc.router.call',
    'rpc.trace.getTrace',
    '$JS.API.CONSUMER.MSG.NEXT.EVENTS.trace',
    '$JS.ACK.EVENTS.trace.1.1.1.1.0',
    '$SYS.REQ.SERVER.PING',
  ],
  provisioner: [
    'work.cli.hi.acme',
    `$KV.LEDGER_1.call.1.acme.${ID}`,
    '$KV.APPROVALS.approval.acme.x',
    'result.cli.acme.x.1',
    'rpc.router.call',
    'event.router.acme',
    '$JS.API.STREAM.MSG.GET.KV_LEDGER_1',
    '$JS.API.STREAM.MSG.DELETE.KV_LEDGER_1',
    '$JS.API.STREAM.DELETE.KV_LEDGER_1',
    '$JS.API.CONSUMER.DELETE.WORK_CLI.hi',
    '$JS.API.CONSUMER.MSG.NEXT.WORK_CLI.hi',
    '$JS.API.STREAM.SNAPSHOT.KV_LEDGER_1',
    '$JS.API.STREAM.RESTORE.KV_LEDGER_1',
  ],
};

const FORBIDDEN_HEARING: Record<string, string[]> = {
  'worker-cli': [
    '>',
    '*',
    'settled.>',
    'settled.acme.x',
    'work.>',
    'work.cli.hi.acme',
    'result.>',
    'result.cli.>',
    'event.>',
    'control.web.*',
    'control.>',
    'progress.>',
    'rpc.router.*',
    '$KV.>',
    '$JS.>',
    '$SYS.>',
    '_INBOX.>',
    '_INBOX_gateway.>',
    '_INBOX_worker-web.>',
    '_R_.>',
  ],
  artifacts: [
    '>',
    'event.>',
    'event.artifacts.*',
    'settled.>',
    'work.>',
    'rpc.>',
    '$KV.>',
    '$JS.>',
    '_INBOX.>',
    '_R_.>',
  ],
  'trace-writer': [
    '>',
    'event.>',
    'event.router.*',
    'settled.>',
    'progress.>',
    'work.>',
    'result.>',
    'rpc.router.*',
    'rpc.>',
    '$KV.>',
    '$JS.>',
    '_INBOX.>',
    '_INBOX_gateway.>',
    '_R_.>',
  ],
  gateway: [
    '>',
    'rpc.trace.*',
    'work.>',
    'result.>',
    'rpc.router.*',
    '$KV.>',
    'event.>',
    'control.>',
    '_INBOX_router.>',
    '_INBOX.>',
  ],
  router: [
    '>',
    'rpc.trace.*',
    'work.>',
    'result.>',
    '$KV.>',
    'event.>',
    '_INBOX_gateway.>',
    '_INBOX_provisioner.>',
    '_R_.>',
    '$JS.>',
  ],
  provisioner: ['>', 'work.>', 'result.>', '$KV.>', 'settled.>', 'rpc.router.*', '_INBOX_router.>', '$JS.>'],
};

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
    ['artifacts', 'event.artifacts.acme', '{}'],
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
