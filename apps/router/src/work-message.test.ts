import type { LedgerBus } from '@toolfabric/bus-nats';
import {
  ArtifactPermit,
  Envelope,
  MAX_MESSAGE_BYTES,
  PERMIT_TYPE,
  type TaskRecord,
  WORK_TYPE,
  WorkBody,
} from '@toolfabric/contract';
import { createVerifier, digestOf, PACES, randomId, uuidv7 } from '@toolfabric/kernel';
import { callKey, changeRecord, lifeKey, taskKey } from '@toolfabric/ledger';
import type { LedgerPorts } from '@toolfabric/ports';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { declareCommand } from './declare-command.ts';
import type { RouterServices } from './router-services.ts';
import { serveVerb } from './serve-verbs.ts';
import { Front } from './testing/front.ts';
import { openServices } from './testing/open-services.ts';
import { ADA } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';

const plain = sampleContract();
const storing = sampleContract({
  name: 'notes.export',
  output: { artifacts: true },
  governance: { redact: ['email'], retention_days: 7 },
});
const long = sampleContract({
  name: 'notes.index',
  execution: { background: true, timeout_ms: 3_600_000 },
  governance: { claimless: false },
});
const short = sampleContract({
  name: 'notes.count',
  execution: { background: true, timeout_ms: 1_000 },
  governance: { claimless: false },
});
const test = { ...sampleContract(), name: 'test.run', toolset: 'test' };
const CONTRACTS = [plain, storing, long, short, test];

let nats: TestNats;
let bus: LedgerBus;
let services: RouterServices;
let front: Front;
const published: { data: Uint8Array }[] = [];

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  bus = await nats.connectAsRouter();
  const worker = await nats.connectAsWorker('cli');
  await worker.lives.create(lifeKey('cli', 'cli-1'), {
    incarnation: 'cli-1',
    state: 'alive',
    beat: 1,
    slots: 1,
    handlers: CONTRACTS.map(({ execution }) => execution.handler),
    isolation: ['process', 'namespace'],
  });
});
afterAll(() => nats.stop());

beforeEach(async () => {
  published.length = 0;
  const base = openServices({ bus, signing: nats.signing });
  const ports: LedgerPorts = {
    ...bus,
    work: {
      ...bus.work,
      has: (...of) => bus.work.has(...of),
      publish: (kind, subject, id, data) => {
        published.push({ data });
        return bus.work.publish(kind, subject, id, data);
      },
    },
  };
  services = { ...base, ctx: { ...base.ctx, ports } };
  await services.registry.seed(CONTRACTS);
  await services.registry.refresh();
  await services.lives.get('cli')?.look();
  front = new Front((verb, body) => serveVerb(services, verb, body));
});

const verifier = () => createVerifier(nats.signing.publicKeys);

/** The body of the only message, and what its permit says, both verified. */
const sent = () => {
  expect(published).toHaveLength(1);
  const { data } = published[0] ?? { data: new Uint8Array() };
  expect(data.byteLength).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
  const envelope = Envelope.parse(JSON.parse(Buffer.from(data).toString()));
  const body = WorkBody.parse(JSON.parse(verifier().open(envelope, WORK_TYPE, 'router') ?? ''));
  const opened = body.permit && verifier().open(body.permit, PERMIT_TYPE, 'router');
  return { body, permit: opened === undefined ? undefined : ArtifactPermit.parse(JSON.parse(opened)) };
};

const taskWith = async (changes: Partial<TaskRecord>): Promise<string> => {
  const taskId = `t-${randomId()}`;
  const task: TaskRecord = { taskId, actor: ADA, title: 't', state: 'open', createdAt: Date.now(), ...changes };
  await bus.tasks.create(taskKey('acme', taskId), task);
  return taskId;
};
const WORKSPACE = { id: 'w-1', source: { type: 'empty' } } as const;

describe('the leave to store artifacts', () => {
  it('goes with a contract that brings forth some, for this call and no other', async () => {
    const taskId = await taskWith({ workspace: WORKSPACE });
    const { callId } = await front.call({ taskId, tool: 'notes.export' });
    const { body, permit } = sent();
    expect(permit).toMatchObject({
      action: 'call',
      actor: ADA,
      taskId,
      callId,
      epoch: 1,
      retentionDays: 7,
      workspace: 'w-1',
    });
    // However long the call may take; then what was stopped still has time to store what it has.
    expect(permit?.expires).toBe(body.deadline + 120_000);
    expect(body.redact).toEqual(['email']);
  });

  it('does not go with any other call', async () => {
    const taskId = await taskWith({ workspace: WORKSPACE });
    await front.call({ taskId });
    const { body, permit } = sent();
    expect(permit).toBeUndefined();
    expect(body).not.toHaveProperty('redact');
  });

  it('goes with every call of a workspace whose worker keeps it on storage of its own', async () => {
    const key = lifeKey('cli', 'cli-1');
    const storage = (where: 'own' | 'shared') =>
      changeRecord(bus.lives('cli'), key, (life) => life && { ...life, storage: where }, { clock: services.ctx.clock });
    await storage('own');
    await services.lives.get('cli')?.look();
    await front.call({ taskId: await taskWith({ workspace: WORKSPACE }) });
    expect(sent().permit).toMatchObject({ action: 'call', workspace: 'w-1' });
    published.length = 0;
    await front.call({ taskId: await taskWith({}) });
    expect(sent().permit).toBeUndefined();
    await storage('shared');
  });
});

describe('a call in the background', () => {
  const background = async (tool: string, asked?: boolean) => {
    const view = await front.call({
      taskId: await taskWith({}),
      tool,
      ...(asked === undefined ? {} : { background: asked }),
    });
    const call = (await bus.calls.get(callKey('acme', view.callId)))?.value;
    expect(sent().body.background).toBe(call?.background);
    return call;
  };

  it.each<[string, string, boolean | undefined, true | undefined]>([
    ['that may take longer than a delivery waits', 'notes.index', undefined, true],
    ['also when its caller says otherwise', 'notes.index', false, true],
    ['that is short, when it is asked for', 'notes.count', true, true],
    ['that is short, when it is not', 'notes.count', undefined, undefined],
    ['whose contract does not allow it', 'notes.find', undefined, undefined],
  ])('RE-5: %s', async (_what, tool, asked, expected) => {
    expect((await background(tool, asked))?.background).toBe(expected);
  });

  it('RE-5: has until the time of its contract is over', async () => {
    const call = await background('notes.index');
    expect((call?.deadline ?? 0) - (call?.createdAt ?? 0)).toBeGreaterThanOrEqual(3_600_000);
    expect(PACES.test.ackWaitMs).toBeLessThan(3_600_000);
  });

  it('RT-4: asked for where the contract does not allow it names the field', async () => {
    const refused = await front.call({ taskId: await taskWith({}), background: true });
    expect(refused).toMatchObject({
      state: 'refused',
      result: { error: { type: 'invalid_request', fields: [{ field: '/background' }] } },
    });
    expect(published).toHaveLength(0);
  });
});

describe('the command that a task declares', () => {
  const create = (testCommand: { argv: string[]; cwd?: string }, requestKey = uuidv7()) =>
    front.ask('createTask', { actor: ADA, requestKey, title: 'tests', testCommand });

  it('CL-2: is pinned by its hash, and goes with calls of test.run alone', async () => {
    const task = await create({ argv: ['npm', 'test'], cwd: 'packages/a' });
    const sha256 = digestOf({ argv: ['npm', 'test'], cwd: 'packages/a' });
    expect(task.testCommand).toEqual({ argv: ['npm', 'test'], cwd: 'packages/a', sha256 });
    await front.call({ taskId: task.taskId, tool: 'test.run' });
    expect(sent().body.testCommand).toEqual(task.testCommand);
    published.length = 0;
    await front.call({ taskId: task.taskId });
    expect(sent().body.testCommand).toBeUndefined();
  });

  it('another one under the same request key is another task', async () => {
    const requestKey = uuidv7();
    await create({ argv: ['npm', 'test'] }, requestKey);
    await create({ argv: ['npm', 'test'] }, requestKey);
    await expect(create({ argv: ['make'] }, requestKey)).rejects.toMatchObject({ type: 'conflict' });
  });

  it.each([
    ['/testCommand/argv', { argv: ['x', 'y'.repeat(4_090)] }],
    ['/testCommand/argv', { argv: Array.from({ length: 64 }, () => 'z'.repeat(100)) }],
    ['/testCommand/argv/0', { argv: [''] }],
    ['/testCommand/cwd', { argv: ['make'], cwd: '/etc' }],
    ['/testCommand/cwd', { argv: ['make'], cwd: 'a/../..' }],
  ])('that cannot be kept names its field: %s', async (field, command) => {
    await expect(create(command)).rejects.toMatchObject({
      type: 'invalid_request',
      details: { fields: [{ field }] },
    });
  });
});

describe('a message', () => {
  /** Everything as long as it may be. */
  const heavy = () =>
    taskWith({
      workspace: { id: `t-${randomId()}`, source: { type: 'existing', path: `/${'p"'.repeat(2_047)}` } },
      testCommand: declareCommand({ argv: ['"'.repeat(1_900)] }),
    });

  it('RT-6: of the longest parts together stays within what a message may be, or its call is refused', async () => {
    const taskId = await heavy();
    const fits = await front.call({ taskId, tool: 'test.run', args: { text: 'x'.repeat(8_000) } });
    expect(fits.state).toBe('queued');
    sent();
    published.length = 0;
    const tooLong = await front.call({ taskId, tool: 'test.run', args: { text: '"'.repeat(8_000) } });
    expect(tooLong).toMatchObject({ state: 'refused', result: { error: { type: 'too_large' } } });
    expect(published).toHaveLength(0);
  });
});
