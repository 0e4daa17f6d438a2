import type { FabricClient } from '@toolfabric/client';
import { type CallRecord, type Envelope, WORK_TYPE, type WorkBody } from '@toolfabric/contract';
import { callIdFor, createSigner, generateSigningKey, uuidv7 } from '@toolfabric/kernel';
import { workSubject } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;
/** The record of a call that really ran. */
let template: CallRecord;
/** Counts what is in `DEAD`, which nobody may read. */
let deadLetters: () => Promise<number>;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'messages' })).taskId;
  const { callId } = await client.call({ taskId, tool: 'truth.append', args: { identity: 'template' } });
  template = await cluster.waitForState(callId, ['ok']);
  const raw = await cluster.nats.connectRaw('provisioner');
  deadLetters = async () => {
    const { text } = await raw.request('$JS.API.STREAM.INFO.DEAD', '', 5_000);
    return (JSON.parse(text) as { state: { messages: number } }).state.messages;
  };
});
afterAll(() => cluster.stop());

const SUBJECT = workSubject('truth', 'hi', 'acme');

const bodyOf = (call: CallRecord, change: Partial<WorkBody> = {}): WorkBody => ({
  subject: SUBJECT,
  kind: 'truth',
  tenant: 'acme',
  callId: call.callId,
  epoch: call.epoch,
  mode: 'run',
  actor: call.actor,
  taskId: call.taskId,
  tool: call.tool,
  handler: call.handler,
  effect: call.effect,
  claim: call.claim,
  rerunnable: call.rerunnable,
  args: call.args,
  argsHash: call.argsHash,
  decision: call.decision,
  deadline: call.deadline,
  expires: call.deadline,
  ...change,
});

const honest = () => createSigner(cluster.nats.signing.kid, cluster.nats.signing.privateKey);
const send = (envelope: Envelope | string, id: string) => {
  const text = typeof envelope === 'string' ? envelope : JSON.stringify(envelope);
  return cluster.ledger.work.publish('truth', SUBJECT, id, Buffer.from(text));
};
const gone = (sequence: number) =>
  expect.poll(() => cluster.ledger.work.has('truth', sequence), { timeout: 15_000 }).toBe(false);

/** A call that nobody knows: no record, no claim, no result. */
const freshCall = (identity: string): CallRecord => ({
  ...template,
  callId: callIdFor(ADA, uuidv7(), Date.now()),
  args: { identity, delay_ms: 0 },
  state: 'queued',
  deadline: Date.now() + 60_000,
});

/** A queued call that no worker can take: its real message waits behind a dead pool. */
const waitingCall = async (identity: string): Promise<CallRecord> => {
  await cluster.killAll('truth');
  const { callId } = await client.startCall({ taskId, tool: 'truth.append', args: { identity, delay_ms: 300 } });
  return cluster.waitForState(callId, ['queued']);
};

describe('RT-9: a worker refuses what its router did not sign', () => {
  it.each<[string, (call: CallRecord) => Envelope | string]>([
    [
      'a forged signature',
      (call) =>
        createSigner('test-router', generateSigningKey('x', ['router']).privateKey).sign(
          WORK_TYPE,
          JSON.stringify(bodyOf(call)),
        ),
    ],
    ['an unknown key', (call) => ({ ...honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call))), kid: 'nobody' })],
    [
      'a body that was changed',
      (call) => {
        const envelope = honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call)));
        return { ...envelope, body: envelope.body.replace('"delay_ms":0', '"delay_ms":1') };
      },
    ],
    [
      'a signature for another type',
      (call) => ({ ...honest().sign('toolfabric/result/1', JSON.stringify(bodyOf(call))), type: WORK_TYPE }),
    ],
    [
      'a stale signature',
      (call) => honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call, { expires: Date.now() - 120_000 }))),
    ],
    ['another kind', (call) => honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call, { kind: 'cli' })))],
    ['another tenant', (call) => honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call, { tenant: 'rival' })))],
    [
      'another subject',
      (call) => honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call, { subject: workSubject('truth', 'lo', 'acme') }))),
    ],
    [
      'an unknown handler',
      (call) => honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call, { handler: 'truth.nothing' }))),
    ],
    ['no JSON', () => '{"type":'],
    ['JSON of another shape', () => '[1,2,3]'],
  ])('%s: a dead letter, no claim, nothing runs', async (name, make) => {
    const worker = await cluster.ensure('truth');
    const call = freshCall(`forged ${name}`);
    const [before, text] = [await deadLetters(), make(call)];
    const { sequence } = await send(text, `forged-${name}`);
    await gone(sequence);
    expect(await deadLetters()).toBe(before + 1);
    expect(await cluster.claim('truth', call.callId)).toBeUndefined();
    expect(await cluster.ledger.results.get('truth', 'acme', call.callId, 1)).toBeUndefined();
    expect(cluster.truth(`forged ${name}`)).toHaveLength(0);
    const refused = worker.log.filter((line) => line.includes('message.refused'));
    expect(refused.some((line) => line.includes(`"sequence":${sequence}`))).toBe(true);
  });

  it('the same message as its router would send it runs: nothing but its fault kept the others from it', async () => {
    await cluster.ensure('truth');
    const [before, call] = [await deadLetters(), freshCall('not forged')];
    const { sequence } = await send(honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call))), 'not-forged');
    await gone(sequence);
    expect(await cluster.claim('truth', call.callId)).toMatchObject({ state: 'done', epoch: 1 });
    expect(cluster.truth('not forged')).toHaveLength(1);
    expect(await deadLetters()).toBe(before);
  });

  it('L1: the same signed message twice, to two workers at once: one claim, one effect', async () => {
    const call = await waitingCall('double');
    const text = JSON.stringify(honest().sign(WORK_TYPE, JSON.stringify(bodyOf(call))));
    const copies = [await send(text, 'copy-1'), await send(text, 'copy-2')];
    const other = cluster.spawn('truth');
    await Promise.all([cluster.ensure('truth'), other.ready]);
    expect(await cluster.waitForState(call.callId, ['ok'])).toMatchObject({ epoch: 1 });
    for (const { sequence } of copies) await gone(sequence);
    expect(cluster.truth('double')).toHaveLength(1);
    other.kill('SIGKILL');
    await other.exited;
  });

  it('an older epoch that comes late runs nothing', async () => {
    await cluster.ensure('truth');
    const armed = await cluster.arm('truth', 'worker.claimed:kill');
    const { callId } = await client.startCall({ taskId, tool: 'truth.append', args: { identity: 'old-epoch' } });
    await armed.exited;
    const first = await cluster.call(callId);
    await cluster.ensure('truth');
    await cluster.waitForState(callId, ['ok']);
    const { sequence } = await send(
      honest().sign(WORK_TYPE, JSON.stringify(bodyOf(first as CallRecord, { epoch: 1 }))),
      'old-epoch',
    );
    await gone(sequence);
    expect(cluster.truth('old-epoch')).toHaveLength(1);
  });
});
