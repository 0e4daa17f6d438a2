import { PACES } from '@toolfabric/kernel';
import { type Delivery, StoreUnavailable, type WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hurriedClock } from './testing/hurried-clock.ts';
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

const APART = { background: true } as const;
const gone = (sequence: number) => waitFor(async () => !(await rig.has(sequence)), { what: 'the acknowledgement' });
const stateOf = async (callId: string) => (await rig.claim(callId))?.state;

/** Ports whose deliveries are seen, and changed, by the test. */
const through = (change: (delivery: Delivery) => Partial<Delivery>): WorkerPorts => ({
  ...ports,
  source: {
    run: (slots, on, signal) =>
      ports.source.run(
        slots,
        (one) =>
          on({
            subject: one.subject,
            data: one.data,
            sequence: one.sequence,
            deliveryCount: one.deliveryCount,
            ack: () => one.ack(),
            ackSync: () => one.ackSync(),
            nak: (ms) => one.nak(ms),
            working: () => one.working(),
            ...change(one),
          }),
        signal,
      ),
  },
});

describe('a call in the background', () => {
  it('RE-5: is acknowledged once its claim is stored, frees its place, and ends like any other', async () => {
    const apart = new HeldTool();
    const within = toolOf(async () => answer(), { handler: 'quick' });
    await rig.start([apart.tool, within], { slots: 1 });
    const first = await rig.send(APART);
    await waitFor(() => apart.runs.length === 1);
    await gone(first.sequence);
    expect(await rig.claim(first.callId)).toMatchObject({ state: 'started', sequence: first.sequence });
    expect(apart.runs[0]?.ctx.background).toBe(true);

    const second = await rig.send({ handler: 'quick' });
    await waitFor(async () => (await stateOf(second.callId)) === 'done');
    apart.runs[0]?.finish(done());
    expect(await waitFor(() => rig.result(first.callId))).toMatchObject({ epoch: 1, outcome: { status: 'ok' } });
    expect(await rig.claim(first.callId)).toMatchObject({ state: 'done', outcome: { sideEffect: 'confirmed' } });
  });

  it('RE-5: has places of its own: over them nothing is taken, and what waits runs when one is free', async () => {
    const tool = new HeldTool();
    await rig.start([tool.tool], { slots: 4, backgroundSlots: 1 });
    const sent = [await rig.send(APART), await rig.send(APART)];
    await waitFor(() => tool.runs.length === 1);
    const running = tool.runs[0]?.ctx.callId;
    const waiting = sent.find(({ callId }) => callId !== running);
    expect(await stateOf(waiting?.callId ?? '')).toBeUndefined();
    expect(await rig.has(waiting?.sequence ?? 0)).toBe(true);
    tool.runs[0]?.finish(done());
    await waitFor(() => tool.runs.length === 2);
    expect(tool.runs[1]?.ctx.callId).toBe(waiting?.callId);
    tool.runs[1]?.finish(done());
    await waitFor(async () => (await stateOf(waiting?.callId ?? '')) === 'done');
  });

  it('RE-5: whose acknowledgement was lost comes again, is acknowledged then, and runs once', async () => {
    const tool = new HeldTool();
    const counts: number[] = [];
    const lossy = through((one) => {
      counts.push(one.deliveryCount);
      return one.deliveryCount > 1 ? {} : { ackSync: async () => Promise.reject(new StoreUnavailable('lost')) };
    });
    await rig.start([tool.tool], { ports: lossy });
    const { sequence, callId } = await rig.send(APART);
    await waitFor(() => tool.runs.length === 1);
    expect(await rig.has(sequence)).toBe(true);
    await gone(sequence);
    expect(counts).toEqual([1, 2]);
    expect(await stateOf(callId)).toBe('started');
    tool.runs[0]?.finish(done());
    await waitFor(async () => (await stateOf(callId)) === 'done');
    expect(tool.runs).toHaveLength(1);
  });

  it('RE-5: whose acknowledgement was lost is acknowledged also where no place is free', async () => {
    const tool = new HeldTool();
    const lossy = through((one) =>
      one.deliveryCount > 1 ? {} : { ackSync: async () => Promise.reject(new StoreUnavailable('lost')) },
    );
    await rig.start([tool.tool], { ports: lossy, backgroundSlots: 1 });
    const { sequence } = await rig.send(APART);
    await waitFor(() => tool.runs.length === 1);
    await gone(sequence);
    tool.runs[0]?.finish(done());
  });

  it('RE-4: is reached by a cancel through its claim, with the bell or without', async () => {
    const tool = new HeldTool();
    await rig.start([tool.tool]);
    const sent = await rig.send(APART);
    await waitFor(() => tool.runs.length === 1);
    await gone(sent.sequence);
    await rig.move(sent.callId, { type: 'request_cancel' });
    await waitFor(() => tool.runs[0]?.ctx.signal.aborted === true);
    expect(tool.runs[0]?.ctx.signal.reason).toMatchObject({ type: 'cancelled' });
    tool.runs[0]?.finish(done({ summary: 'stopped half way' }));
    await waitFor(async () => (await stateOf(sent.callId)) === 'done');
  });

  it('RE-4: is stopped at the longest time that it may take', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.clock.sleep(30_000, ctx.signal);
      throw ctx.signal.reason;
    });
    await rig.start([tool]);
    const limits = { timeoutMs: 300, outputBytes: 4_096 };
    const { callId } = await rig.send({ ...APART, decision: { policyVersion: 'p', rule: 'r', limits } });
    const result = await waitFor(() => rig.result(callId));
    expect(result).toMatchObject({ outcome: { status: 'error', error: { type: 'expired' }, sideEffect: 'none' } });
  });

  it('RE-3: of a worker that was declared dead is told to stop, and what it says then is late', async () => {
    const tool = new HeldTool({ begins: false });
    const worker = await rig.start([tool.tool]);
    const { callId, sequence } = await rig.send(APART);
    await waitFor(() => tool.runs.length === 1);
    await gone(sequence);
    await rig.declareDead(worker.incarnation);
    await worker.failed;
    expect(tool.runs[0]?.ctx.signal.aborted).toBe(true);
    await rig.move(callId, { type: 'release' });
    tool.runs[0]?.finish(answer({ summary: 'too late' }));
    expect(await waitFor(() => rig.result(callId))).toMatchObject({ epoch: 1, outcome: { summary: 'too late' } });
    expect(await rig.claim(callId)).toMatchObject({ state: 'released', epoch: 2 });
  });

  it('RE-3: whose result cannot be published leaves it in the claim, and gives its place back', async () => {
    const tool = new HeldTool();
    let isBroken = true;
    const results: WorkerPorts['results'] = {
      get: (...of) => ports.results.get(...of),
      createOnce: (...of) =>
        isBroken ? Promise.reject(new StoreUnavailable('no answer')) : ports.results.createOnce(...of),
    };
    await rig.start([tool.tool], { ports: { ...ports, results }, backgroundSlots: 1 });
    const first = await rig.send(APART);
    await waitFor(() => tool.runs.length === 1);
    tool.runs[0]?.finish(done());
    await waitFor(async () => (await stateOf(first.callId)) === 'done');
    expect(await rig.claim(first.callId)).toMatchObject({ outcome: { status: 'ok', sideEffect: 'confirmed' } });
    isBroken = false;
    await rig.send(APART);
    await waitFor(() => tool.runs.length === 2);
    tool.runs[1]?.finish(done());
  });
});

describe('a drain', () => {
  const draining = { ...PACES.test, drainMs: 400 };

  it('RE-5: gives a call in the background the time of the drain', async () => {
    const tool = new HeldTool();
    const worker = await rig.start([tool.tool], { pace: draining });
    const { callId, sequence } = await rig.send(APART);
    await waitFor(() => tool.runs.length === 1);
    await gone(sequence);
    const stopping = worker.stop();
    tool.runs[0]?.finish(done());
    await stopping;
    expect(await rig.claim(callId)).toMatchObject({ state: 'done', outcome: { status: 'ok' } });
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'drained' });
  });

  it.each([
    [
      'before its effect: nothing happened',
      false,
      { status: 'error', sideEffect: 'none', error: { type: 'worker_drained' } },
    ],
    ['after its effect began: nobody knows', true, { status: 'unknown', sideEffect: 'possible' }],
  ])('RE-5: then ends it, %s', async (_what, begins, outcome) => {
    const tool = new HeldTool({ begins });
    const worker = await rig.start([tool.tool], { pace: draining, clock: hurriedClock });
    const { callId, sequence } = await rig.send({ ...APART, callId: newCallId() });
    await waitFor(() => tool.runs.length === 1);
    await gone(sequence);
    await worker.stop();
    expect(await rig.claim(callId)).toMatchObject({ state: 'done', outcome });
    expect(await rig.result(callId)).toMatchObject({ outcome });
    expect(await rig.life(worker.incarnation)).toMatchObject({ state: 'drained' });
  });
});
