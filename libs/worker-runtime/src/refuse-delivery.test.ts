import type { DeadLetter, WorkBody } from '@toolfabric/contract';
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
