import type { FabricClient } from '@toolfabric/client';
import { type CallRecord, MAX_ARGUMENT_BYTES, RING_SLOTS } from '@toolfabric/contract';
import { slotOf, uuidv7 } from '@toolfabric/kernel';
import { callKey } from '@toolfabric/ledger';
import { type RawUser, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

/** Bytes of one slot of the ledger: a few hundred calls. */
const SLOT = 400 * 1024;
const RUNNING = 8;

let cluster: Cluster;
let client: FabricClient;
let taskId: string;
let provisioner: RawUser;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth'], { sizes: { ledgerSlot: SLOT } });
  client = cluster.client();
  provisioner = await cluster.nats.connectRaw('provisioner');
  taskId = (await client.createTask({ title: 'full' })).taskId;
}, 60_000);
afterAll(() => cluster.stop());

const fill = () => cluster.ledger.fill(['cli', 'truth']);

/** Records of other calls of this week, until so much of the slot is in use. */
const fillTo = async (share: number, like: CallRecord): Promise<void> => {
  const [week] = like.callId.split('-');
  for (let n = 0; (await fill()) < share; n += 1) {
    const callId = `${week}-${String(n).padStart(26, '0')}`;
    const key = callKey(ADA.tenant, callId);
    const record: CallRecord = { ...like, callId, args: { text: 'x'.repeat(MAX_ARGUMENT_BYTES / 8) } };
    await cluster.ledger.calls.create(key, record).catch(async () => expect(await fill()).toBeGreaterThan(share));
  }
};

/** Bytes of the slot of a call that are not in use. */
const roomFor = async (callId: string): Promise<number> => {
  const { text } = await provisioner.request(`$JS.API.STREAM.INFO.KV_LEDGER_${slotOf(callId)}`, '', 5_000);
  const { state } = JSON.parse(text) as { state: { bytes: number } };
  return SLOT - state.bytes;
};

/** Pads the slot so that a message of so many bytes still fits, and hardly one more. */
const leaveRoom = async (callId: string, bytes: number, like: CallRecord): Promise<void> => {
  const [week] = callId.split('-');
  for (let n = 0; ; n += 1) {
    const room = await roomFor(callId);
    if (room < bytes + 100) return;
    const record = { ...like, callId: `${week}-pad${String(n).padStart(23, '0')}` };
    const most = Math.min(room - bytes, 60_000);
    const pad = Math.max(0, most - JSON.stringify(record).length - 200);
    const padded: CallRecord = { ...record, args: { text: 'x'.repeat(pad) } };
    await cluster.ledger.calls.create(callKey(ADA.tenant, record.callId), padded);
  }
};

describe('RE-3: a ledger that is nearly full', () => {
  it('refuses what is new before it is full, gives a retry its call, and lets what it accepted end', async () => {
    const proposal = { taskId, tool: 'truth.append', requestKey: uuidv7(), args: { identity: 'first' } };
    const first = await client.call(proposal);
    expect(first.state).toBe('ok');
    const slow = Array.from({ length: RUNNING }, (_, n) => `slow-${n}`);
    const started = await Promise.all(
      slow.map((identity) =>
        client.startCall({ taskId, tool: 'truth.append', args: { identity, delay_ms: 9_000 }, deadlineMs: 60_000 }),
      ),
    );
    const queued = await Promise.all(
      slow.map((identity) =>
        client.startCall({
          taskId,
          tool: 'truth.append',
          args: { identity: `queued ${identity}` },
          deadlineMs: 60_000,
        }),
      ),
    );

    await fillTo(0.86, (await cluster.call(first.callId)) as CallRecord);
    const refused = await waitFor(
      async () => {
        const view = await client.startCall({ taskId, tool: 'truth.noop', args: {} });
        return view.state === 'refused' ? view : undefined;
      },
      { timeoutMs: 15_000, everyMs: 500, what: 'a refusal' },
    );
    expect(refused.result?.error).toMatchObject({
      type: 'overloaded',
      retryable: true,
      retryAfterMs: expect.any(Number),
    });
    expect(await fill()).toBeLessThan(0.95);
    expect(await cluster.call(refused.callId)).toBeUndefined();
    expect(await client.call(proposal)).toEqual(first);
    const other = await client.call({ ...proposal, args: { identity: 'other' } });
    expect(other).toMatchObject({ state: 'refused', result: { error: { type: 'conflict' } } });

    for (const { callId } of [...started, ...queued]) {
      const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown', 'expired'], 40_000);
      expect(end.result).toMatchObject({
        status: 'ok',
        sideEffect: 'confirmed',
        data: { identity: expect.any(String) },
      });
    }
    expect(cluster.truth('slow-0')).toHaveLength(1);
    expect(cluster.truth('queued slow-0')).toHaveLength(1);
  }, 90_000);

  it('whose stream has no room for an output still says how a call ended', async () => {
    for (let slot = 0; slot < RING_SLOTS; slot += 1)
      await provisioner.request(`$JS.API.STREAM.PURGE.KV_LEDGER_${slot}`, '', 5_000);
    const accepts = async () => (await client.startCall({ taskId, tool: 'truth.noop', args: {} })).state !== 'refused';
    await waitFor(accepts, { timeoutMs: 15_000, everyMs: 500, what: 'the router to accept again' });

    const identity = 'i'.repeat(200);
    const args = { identity };
    const whole = await cluster.waitForState(
      (await client.startCall({ taskId, tool: 'truth.append', args: { identity: 'w'.repeat(200) } })).callId,
      ['ok'],
    );
    const { callId } = await client.startCall({ taskId, tool: 'truth.append', args: { ...args, delay_ms: 6_000 } });
    await waitFor(async () => (await cluster.claim('truth', callId))?.state === 'started');
    const needed = JSON.stringify(whole).length;
    await leaveRoom(callId, needed - 300, whole);
    const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown'], 30_000);
    expect(end.result).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      summary: expect.stringContaining('full'),
    });
    expect(end.result).not.toHaveProperty('data');
    expect(cluster.truth(identity)).toHaveLength(1);
  }, 60_000);
});
