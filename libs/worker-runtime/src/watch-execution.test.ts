import type { Claim } from '@toolfabric/contract';
import { PACES, silentLogger } from '@toolfabric/kernel';
import { claimKey } from '@toolfabric/ledger';
import { type Delivery, type LedgerPorts, StoreUnavailable, type WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Rig } from './testing/rig.ts';
import { answer, done, HeldTool } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;
let router: LedgerPorts;
let ports: WorkerPorts;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

/** So long that no heartbeat comes within a test. */
const NO_BEATS = { ...PACES.test, heartbeatMs: 600_000 };
const FAST_BEATS = { ...PACES.test, heartbeatMs: 50 };

const isAborted = (held: HeldTool) =>
  waitFor(() => held.runs[0]?.ctx.signal.aborted, { what: 'the tool to be told to stop' });

describe('the heartbeat of an execution', () => {
  it('RE-3: keeps a delivery for three times the acknowledge wait, and it never comes again', async () => {
    const deliveries: number[] = [];
    const counted: WorkerPorts = {
      ...ports,
      source: {
        run: (slots, on, signal) =>
          ports.source.run(
            slots,
            (delivery: Delivery) => {
              deliveries.push(delivery.deliveryCount);
              return on(delivery);
            },
            signal,
          ),
      },
    };
    const held = new HeldTool({ begins: false });
    await rig.start([held.tool], { ports: counted });
    const read = { claim: 'none', effect: 'none' } as const;
    const [claimed, claimless] = [await rig.send(), await rig.send(read)];
    await waitFor(() => held.runs.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 3 * PACES.test.ackWaitMs));
    for (const run of held.runs) run.finish(answer());
    for (const { callId, sequence } of [claimed, claimless]) {
      await waitFor(async () => !(await rig.has(sequence)));
      expect(await rig.result(callId)).toMatchObject({ outcome: { status: 'ok' } });
    }
    expect(deliveries).toEqual([1, 1]);
  });

  it('RE-4: finds a cancel although no bell was heard', async () => {
    const held = new HeldTool();
    await rig.start([held.tool], { pace: FAST_BEATS });
    const { callId } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.move(callId, { type: 'request_cancel' });
    await isAborted(held);
    expect(held.runs[0]?.ctx.signal.reason).toMatchObject({ type: 'cancelled', message: 'the call was cancelled' });
    held.runs[0]?.fail(new Error('stopped'));
    await waitFor(async () => (await rig.claim(callId))?.state === 'done');
    expect(await rig.claim(callId)).toMatchObject({ outcome: { status: 'unknown', sideEffect: 'possible' } });
  });

  it('RE-4: finds that the claim went to somebody else', async () => {
    const held = new HeldTool({ begins: false });
    await rig.start([held.tool], { pace: FAST_BEATS });
    const { callId } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.move(callId, { type: 'release' });
    await isAborted(held);
    expect(held.runs[0]?.ctx.signal.reason.message).toContain('taken from this worker');
    held.runs[0]?.fail(new Error('stopped'));
  });

  it('goes on when it could not look: that is no reason to stop', async () => {
    const looks: string[] = [];
    let broken = true;
    const { claims } = ports;
    const sometimes: WorkerPorts = {
      ...ports,
      claims: {
        get: async (key) => {
          looks.push(key);
          if (broken) throw new StoreUnavailable('no answer');
          return claims.get(key);
        },
        create: (key, value) => claims.create(key, value),
        update: (key, value, revision) => claims.update(key, value, revision),
        remove: (key, revision) => claims.remove(key, revision),
        keys: (prefix) => claims.keys(prefix),
        lastRevision: () => claims.lastRevision(),
      },
    };
    const held = new HeldTool();
    await rig.start([held.tool], { ports: sometimes, pace: FAST_BEATS });
    const { callId } = await rig.send();
    await waitFor(() => looks.length >= 3);
    expect(held.runs[0]?.ctx.signal.aborted).toBe(false);
    await rig.move(callId, { type: 'request_cancel' });
    broken = false;
    await isAborted(held);
    held.runs[0]?.finish(done());
  });

  it('goes on when the claim cannot be read, as one of a later version: that is no reason to stop either', async () => {
    const events: string[] = [];
    const log = { ...silentLogger, warn: (event: string) => void events.push(event) };
    const held = new HeldTool();
    await rig.start([held.tool], { pace: FAST_BEATS, log });
    const { callId, sequence } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    const [store, key] = [router.claims('cli'), claimKey('cli', 'acme', callId)];
    const stored = await store.get(key);
    if (!stored) throw new Error('there is no claim');
    const later = await store.update(key, { ...stored.value, more: 1 } as Claim, stored.revision);
    await waitFor(() => events.filter((event) => event === 'claim.not_read').length >= 2);
    expect(held.runs[0]?.ctx.signal.aborted).toBe(false);
    await store.update(key, stored.value, later);
    held.runs[0]?.finish(done());
    await waitFor(async () => !(await rig.has(sequence)));
    expect(await rig.result(callId)).toMatchObject({ outcome: { status: 'ok' } });
  });

  it('ends with its execution', async () => {
    const held = new HeldTool();
    await rig.start([held.tool], { pace: FAST_BEATS });
    const { callId, sequence } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    held.runs[0]?.finish(done());
    await waitFor(async () => !(await rig.has(sequence)));
    rig.ring(callId);
    await rig.send();
    await waitFor(() => held.runs.length === 2);
    expect(held.runs[0]?.ctx.signal.aborted).toBe(false);
    held.runs[1]?.finish(done());
  });
});

describe('a bell', () => {
  it('RE-4: makes a cancel immediate, long before the next heartbeat', async () => {
    const held = new HeldTool();
    await rig.start([held.tool], { pace: NO_BEATS });
    const { callId } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    await rig.move(callId, { type: 'request_cancel' });
    expect(held.runs[0]?.ctx.signal.aborted).toBe(false);
    rig.ring(callId);
    await isAborted(held);
    held.runs[0]?.finish(done());
  });

  it('RE-4: for another call, or without a reason, stops nothing', async () => {
    const held = new HeldTool();
    await rig.start([held.tool], { pace: NO_BEATS });
    const { callId: first } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    const { callId: second } = await rig.send();
    await waitFor(() => held.runs.length === 2);
    await rig.move(second, { type: 'request_cancel' });
    rig.ring('nobody');
    rig.ring(first);
    rig.ring(second);
    await waitFor(() => held.runs[1]?.ctx.signal.aborted);
    expect(held.runs[0]?.ctx.signal.aborted).toBe(false);
    for (const run of held.runs) run.finish(done());
  });

  it('that rings again and again does not stop a tool twice', async () => {
    const held = new HeldTool();
    await rig.start([held.tool], { pace: NO_BEATS });
    const { callId } = await rig.send();
    await waitFor(() => held.runs.length === 1);
    let told = 0;
    held.runs[0]?.ctx.signal.addEventListener('abort', () => {
      told += 1;
    });
    await rig.move(callId, { type: 'request_cancel' });
    for (let n = 0; n < 5; n += 1) rig.ring(callId);
    await isAborted(held);
    held.runs[0]?.finish(done());
    await waitFor(() => rig.result(callId));
    expect(told).toBe(1);
  });
});
