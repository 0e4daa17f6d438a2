import type { DeadLetter, Outcome } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import type { Delivery, WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newCallId, Rig } from './testing/rig.ts';
import { answer, done, HeldTool, toolOf } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;
let ports: WorkerPorts;

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  const router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

const gone = (sequence: number) =>
  waitFor(async () => !(await rig.has(sequence)), { what: 'the message to be acknowledged' });

/** A worker whose deliveries and dead letters can be looked at; all of it goes to the real bus. */
const watched = (as: (delivery: Delivery) => Delivery = (delivery) => delivery) => {
  const naks: number[] = [];
  const letters: { tenant: string; letter: DeadLetter }[] = [];
  const observed = (delivery: Delivery): Delivery => ({
    subject: delivery.subject,
    data: delivery.data,
    sequence: delivery.sequence,
    deliveryCount: delivery.deliveryCount,
    ack: () => delivery.ack(),
    ackSync: () => delivery.ackSync(),
    working: () => delivery.working(),
    nak: (delayMs) => {
      naks.push(delivery.sequence);
      delivery.nak(delayMs);
    },
  });
  const watchedPorts: WorkerPorts = {
    ...ports,
    source: { run: (slots, on, signal) => ports.source.run(slots, (one) => on(as(observed(one))), signal) },
    deadLetter: async (tenant, letter) => {
      await ports.deadLetter(tenant, letter);
      letters.push({ tenant, letter });
    },
  };
  return { naks, letters, ports: watchedPorts };
};

describe('a message that came before', () => {
  it('RE-3: twice in the stream runs once, and the second is acknowledged without the first', async () => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    const callId = newCallId();
    const first = await rig.send({ callId });
    await waitFor(() => held.runs.length === 1);
    const second = await rig.send({ callId });
    await gone(second.sequence);
    expect(await rig.has(first.sequence)).toBe(true);
    held.runs[0]?.finish(done());
    await gone(first.sequence);
    expect(await rig.result(callId)).toMatchObject({ outcome: { status: 'ok' } });
    expect(held.runs).toHaveLength(1);
  });

  it('RE-3: that is done already is answered from the claim: published once more, run by nobody', async () => {
    const callId = newCallId();
    await rig.move(callId, { type: 'take', epoch: 1, sequence: 1, incarnation: 'cli-gone', nonce: 'n' });
    await rig.move(callId, { type: 'finish', nonce: 'n', outcome: done({ summary: 'by the first' }) });
    const held = new HeldTool();
    await rig.start([held.tool]);
    const { sequence } = await rig.send({ callId });
    await gone(sequence);
    expect(await rig.result(callId)).toMatchObject({ epoch: 1, outcome: { summary: 'by the first' } });
    expect(held.runs).toEqual([]);
  });

  it('RE-3: without a claim and was answered keeps its first answer', async () => {
    const callId = newCallId();
    for (const summary of ['first', 'second']) {
      await rig.start([toolOf(async () => answer({ summary }))]);
      await gone((await rig.send({ callId, claim: 'none', effect: 'none' })).sequence);
      await rig.stopAll();
    }
    expect(await rig.result(callId)).toMatchObject({ outcome: { summary: 'first' } });
  });

  it('RE-4: that was taken away or given up is acknowledged, and runs nothing', async () => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    const [cancelled, orphaned, old] = [newCallId(), newCallId(), newCallId()];
    await rig.move(cancelled, { type: 'cancel', epoch: 1, reason: 'cancelled' });
    await rig.move(orphaned, { type: 'take', epoch: 1, sequence: 1, incarnation: 'cli-gone', nonce: 'n' });
    await rig.move(orphaned, { type: 'start', nonce: 'n', intent: {} });
    await rig.move(orphaned, { type: 'orphan' });
    await rig.move(old, { type: 'release' });
    for (const callId of [cancelled, orphaned, old]) {
      const { sequence } = await rig.send({ callId });
      await gone(sequence);
      expect(await rig.result(callId)).toBeUndefined();
    }
    expect(held.runs).toEqual([]);
    expect(await rig.claim(old)).toMatchObject({ state: 'released', epoch: 2 });
  });

  it('of an epoch that is still to come waits until it is released', async () => {
    const watch = watched();
    const held = new HeldTool();
    await rig.start([held.tool], { ports: watch.ports });
    const { callId, sequence } = await rig.send({ epoch: 2 });
    await waitFor(() => watch.naks.includes(sequence));
    expect(await rig.claim(callId)).toBeUndefined();
    await rig.move(callId, { type: 'release' });
    await waitFor(() => held.runs.length === 1);
    held.runs[0]?.finish(done());
    await gone(sequence);
    expect(await rig.claim(callId)).toMatchObject({ state: 'done', epoch: 2 });
    expect(await rig.result(callId, 2)).toMatchObject({ outcome: { status: 'ok' } });
  });
});

describe('a claim that is lost while the tool runs', () => {
  it('RE-4: before its effect keeps the effect from beginning, and says so as a late result', async () => {
    const refused: string[] = [];
    const go = Promise.withResolvers<void>();
    const tool = toolOf(async (ctx) => {
      await go.promise;
      await ctx.beginEffect({}).catch((error) => {
        refused.push(error.type);
        throw error;
      });
      return done();
    });
    await rig.start([tool]);
    const { callId, sequence } = await rig.send();
    await waitFor(async () => (await rig.claim(callId))?.state === 'claimed');
    await rig.move(callId, { type: 'cancel', epoch: 1, reason: 'cancelled' });
    go.resolve();
    await gone(sequence);
    expect(refused).toEqual(['cancelled']);
    expect(await rig.claim(callId)).toMatchObject({ state: 'cancelled' });
    const { outcome } = (await rig.result(callId)) ?? {};
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'cancelled' } });
  });

  it.each<[string, Outcome]>([
    ['a receipt', done()],
    ['that nothing happened', answer({ status: 'error' })],
  ])('RE-2: after it was orphaned brings what it knows, which settles it: %s', async (_name, outcome) => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    const { callId, sequence } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.move(callId, { type: 'orphan' });
    held.runs[0]?.finish(outcome);
    await gone(sequence);
    const result = await rig.result(callId);
    expect(result?.outcome).toMatchObject(outcome);
    const { state, epoch } = (await rig.claim(callId)) ?? {};
    expect([state, epoch]).toEqual(['orphaned', 1]);
    const settled = await rig.move(callId, { type: 'resolve', outcome: result?.outcome ?? answer() });
    expect(settled).toMatchObject({ state: 'done', outcome: { status: outcome.status } });
  });

  it('RE-2: after it was orphaned tells nothing when it does not know either', async () => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    const { callId, sequence } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.move(callId, { type: 'orphan' });
    held.runs[0]?.fail(new Error('lost'));
    await gone(sequence);
    expect(await rig.result(callId)).toBeUndefined();
    expect(await rig.claim(callId)).toMatchObject({ state: 'orphaned' });
  });

  it('RE-2: after its effect brings the receipt as a late result, and leaves the claim alone', async () => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    const { callId, sequence } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.move(callId, { type: 'orphan' });
    held.runs[0]?.finish(done());
    await gone(sequence);
    expect(await rig.result(callId)).toMatchObject({ epoch: 1, outcome: { status: 'ok', evidence: done().evidence } });
    const claim = await rig.claim(callId);
    expect(claim?.state).toBe('orphaned');
    expect(claim).not.toHaveProperty('outcome');
  });
});
