import type { FabricClient } from '@toolfabric/client';
import { type CallRecord, type Envelope, WORK_TYPE, type WorkBody } from '@toolfabric/contract';
import { createSigner, generateSigningKey } from '@toolfabric/kernel';
import { workSubject } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'messages' })).taskId;
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
        return { ...envelope, body: envelope.body.replace('"epoch":1', '"epoch":2') };
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
  ])('%s: a dead letter, the claim untouched, nothing runs', async (name, make) => {
    await cluster.ensure('truth');
    const done = await client.call({ taskId, tool: 'truth.append', args: { identity: `honest ${name}` } });
    const call = await cluster.call(done.callId);
    if (!call) throw new Error('no record');
    const before = await cluster.claim('truth', call.callId);
    const { sequence } = await send(
      make({ ...call, callId: call.callId, args: { identity: `forged ${name}` } }),
      `forged-${name}`,
    );
    await gone(sequence);
    expect(await cluster.claim('truth', call.callId)).toEqual(before);
    expect(cluster.truth(`forged ${name}`)).toHaveLength(0);
    const worker = await cluster.ensure('truth');
    expect(worker.log.some((line) => line.includes('message.refused') && line.includes(`"sequence":${sequence}`))).toBe(
      true,
    );
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
