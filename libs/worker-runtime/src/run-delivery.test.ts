import type { DeadLetter, Outcome, WorkBody } from '@toolfabric/contract';
import { CLOCK_LEEWAY_MS, WORK_TYPE } from '@toolfabric/contract';
import { createSigner, createVerifier, generateSigningKey, PACES } from '@toolfabric/kernel';
import type { Delivery, WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newCallId, Rig } from './testing/rig.ts';
import { answer, done, HeldTool, toolOf } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;
let ports: WorkerPorts;
/** Counts what is in `DEAD`, which nobody may read. */
let deadLetters: () => Promise<number>;

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  const router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
  const raw = await nats.connectRaw('provisioner');
  deadLetters = async () => {
    const { text } = await raw.request('$JS.API.STREAM.INFO.DEAD');
    return (JSON.parse(text) as { state: { messages: number } }).state.messages;
  };
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

describe('a claimless message', () => {
  const read = { claim: 'none', effect: 'none' } as const;

  it('RE-4: is stopped by whoever is first on its result subject', async () => {
    const held = new HeldTool({ begins: false });
    await rig.start([held.tool], { pace: { ...PACES.test, heartbeatMs: 50 } });
    const { callId, sequence } = await rig.send(read);
    await waitFor(() => held.runs.length === 1);
    const { ctx } = held.runs[0] ?? {};
    const cancelled = { ...answer(), status: 'error' as const };
    await ports.results.createOnce('cli', { callId, tenant: 'acme', epoch: 1, outcome: cancelled, by: 'router' });
    await waitFor(() => ctx?.signal.aborted);
    // It was taken from this worker; whether the call was cancelled is for the router to say.
    expect(ctx?.signal.reason).toMatchObject({ type: 'unavailable' });
    held.runs[0]?.finish(answer({ summary: 'too late' }));
    await gone(sequence);
    expect(await rig.result(callId)).toMatchObject({ by: 'router' });
  });

  it('that waited through many deliveries still runs: a surplus arrival counts as one, and kills nobody', async () => {
    const watch = watched((delivery) => ({ ...delivery, deliveryCount: 65 }));
    await rig.start([toolOf(async () => answer())], { ports: watch.ports });
    const { callId, sequence } = await rig.send(read);
    await gone(sequence);
    expect(await rig.result(callId)).toMatchObject({ outcome: { status: 'ok' } });
    expect(watch.letters).toEqual([]);
  });

  it('that kills its workers is bounded by its deadline: after it nothing of the tool runs', async () => {
    const watch = watched((delivery) => ({ ...delivery, deliveryCount: 65 }));
    const signals: boolean[] = [];
    const tool = toolOf(async (ctx) => {
      signals.push(ctx.signal.aborted);
      throw ctx.signal.reason;
    });
    await rig.start([tool], { ports: watch.ports });
    const { callId, sequence } = await rig.send({ ...read, deadline: Date.now() - 1 });
    await gone(sequence);
    expect(await rig.result(callId)).toMatchObject({ outcome: { status: 'error', error: { type: 'expired' } } });
    expect(signals).toEqual([true]);
    expect(watch.letters).toEqual([]);
  });
});

describe('a message that cannot be trusted', () => {
  const stranger = generateSigningKey('stranger', ['router']);
  const colleague = generateSigningKey('colleague', ['worker', 'gateway']);
  const signedBy = (kid: string, key: string, body: WorkBody, type = WORK_TYPE) =>
    JSON.stringify(createSigner(kid, key).sign(type, JSON.stringify(body)));
  const sealed = (changes: Partial<WorkBody>) => JSON.stringify(rig.sign(rig.body(changes)));
  const past = (ms: number) => Date.now() - ms;

  it.each<[string, string, () => string]>([
    ['no JSON', 'not an envelope', () => '{"type":'],
    ['nothing', 'not an envelope', () => ''],
    ['no envelope', 'not an envelope', () => '{"body":"{}"}'],
    ['another field in it', 'not an envelope', () => JSON.stringify({ ...rig.sign(rig.body()), more: 1 })],
    ['no signature', 'signature', () => JSON.stringify({ ...rig.sign(rig.body()), sig: '' })],
    ['the key of nobody', 'signature', () => signedBy('stranger', stranger.privateKey, rig.body())],
    ['the name of the router', 'signature', () => signedBy(nats.signing.kid, stranger.privateKey, rig.body())],
    ['the key of a worker', 'signature', () => signedBy('colleague', colleague.privateKey, rig.body())],
    [
      'another type of message',
      'signature',
      () => signedBy(nats.signing.kid, nats.signing.privateKey, rig.body(), 'toolfabric/permit/1'),
    ],
    [
      'a body that was changed',
      'signature',
      () => JSON.stringify({ ...rig.sign(rig.body()), body: JSON.stringify(rig.body({ args: { path: 'b' } })) }),
    ],
    ['a body of another shape', 'wrong shape', () => sealed({ epoch: 0 })],
    ['another subject', 'another subject', () => sealed({ subject: 'work.cli.lo.acme' })],
    ['another kind', 'another kind', () => sealed({ kind: 'web' })],
    ['another tenant', 'another tenant', () => sealed({ tenant: 'rival' })],
    [
      'an actor of another tenant',
      'another tenant',
      () => sealed({ actor: { tenant: 'rival', user: 'a', agent: 'b' } }),
    ],
    ['a signature that went stale', 'expired', () => sealed({ expires: past(CLOCK_LEEWAY_MS + 2_000) })],
    ['a handler that nobody has here', 'no such handler', () => sealed({ handler: 'other' })],
  ])('RT-9: %s: to the dead letters as "%s", and nothing runs', async (_name, reason, make) => {
    const watch = watched();
    const held = new HeldTool();
    const verifier = createVerifier([...nats.signing.publicKeys, colleague.entry]);
    await rig.start([held.tool], { ports: watch.ports, incarnation: 'cli-judge', verifier });
    const before = await deadLetters();
    const text = make();
    const { sequence } = await rig.sendRaw(text);
    await gone(sequence);
    expect(await deadLetters()).toBe(before + 1);
    const [entry] = watch.letters;
    expect(entry).toMatchObject({
      tenant: 'acme',
      letter: { reason: expect.stringContaining(reason), subject: 'work.cli.hi.acme', sequence, by: 'cli-judge' },
    });
    expect(Buffer.from(entry?.letter.excerpt ?? '', 'base64').toString()).toBe(text.slice(0, 3_000));
    expect(held.runs).toEqual([]);
  });

  it('RT-9: leaves the claim of the call that it names untouched', async () => {
    const callId = newCallId();
    await rig.start([new HeldTool().tool]);
    await gone((await rig.sendRaw(sealed({ callId, handler: 'other' }))).sequence);
    expect(await rig.claim(callId)).toBeUndefined();
  });

  it('keeps an excerpt only, and still leaves the queue', async () => {
    const watch = watched();
    await rig.start([new HeldTool().tool], { ports: watch.ports });
    await gone((await rig.sendRaw('x'.repeat(40_000))).sequence);
    expect(Buffer.from(watch.letters[0]?.letter.excerpt ?? '', 'base64')).toHaveLength(3_000);
  });

  it('is no message whose signature is stale by less than the leeway of the clocks', async () => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    await rig.send({ expires: past(CLOCK_LEEWAY_MS - 5_000) });
    await waitFor(() => held.runs.length === 1);
    held.runs[0]?.finish(done());
  });
});
