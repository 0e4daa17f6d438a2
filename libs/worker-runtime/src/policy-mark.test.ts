import { POLICY_BELL } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hearPolicy } from './policy-mark.ts';
import { newCallId, Rig } from './testing/rig.ts';
import { done, HeldTool } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;

beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  const [router, ports] = await Promise.all([nats.connectAsRouter(), nats.connectAsWorker('cli')]);
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

const gone = (sequence: number) => waitFor(async () => !(await rig.has(sequence)));

/** Runs a call that was decided under this number, so that the bell before it has certainly been heard. */
const settle = async (held: HeldTool, watermark: number) => {
  const before = held.runs.length;
  const { sequence } = await rig.send({ watermark });
  await waitFor(() => held.runs.length > before);
  held.runs[before]?.finish(done());
  await gone(sequence);
};

/** A bell is lost on whoever does not listen yet: a worker that has run a call listens. */
const ringOnce = async (held: HeldTool, watermark: number) => {
  await settle(held, watermark);
  rig.ring(`${POLICY_BELL}${watermark}`);
  await settle(held, watermark);
};

describe('PO-4: a message that was decided before the policy moved', () => {
  it('is handed back, runs nothing, and goes once the call has gone on', async () => {
    const held = new HeldTool();
    await rig.start([held.tool]);
    await ringOnce(held, 5);
    const callId = newCallId();
    const old = await rig.send({ callId, watermark: 4 });
    await settle(held, 6);
    await settle(held, 5);
    expect(await rig.has(old.sequence)).toBe(true);
    expect(await rig.claim(callId)).toBeUndefined();
    expect(held.runs.map(({ ctx }) => ctx.callId)).not.toContain(callId);
    const anew = await rig.send({ callId, watermark: 5 });
    await waitFor(() => held.runs.some((run) => run.ctx.callId === callId));
    held.runs.at(-1)?.finish(done());
    await Promise.all([gone(old.sequence), gone(anew.sequence)]);
    expect(held.runs.filter((run) => run.ctx.callId === callId)).toHaveLength(1);
  });

  it('without a claim is handed back too, until there is a result', async () => {
    const held = new HeldTool({ begins: false });
    await rig.start([held.tool]);
    await ringOnce(held, 5);
    const callId = newCallId();
    const old = await rig.send({ callId, watermark: 1, claim: 'none', effect: 'none' });
    await settle(held, 5);
    expect(await rig.has(old.sequence)).toBe(true);
    await rig.send({ callId, watermark: 5, claim: 'none', effect: 'none' });
    await waitFor(() => held.runs.some((run) => run.ctx.callId === callId));
    held.runs.at(-1)?.finish(done({ sideEffect: 'none' }));
    await gone(old.sequence);
    expect(held.runs.filter((run) => run.ctx.callId === callId)).toHaveLength(1);
  });
});

describe('a bell', () => {
  it('moves the number of the policy up and never down', () => {
    const worker = { policy: { watermark: 3 } };
    for (const text of ['policy:2', 'policy:', 'policy:x', 'policy:NaN', 'policy:1e99', 'policy:-7'])
      expect(hearPolicy(worker, text)).toBe(true);
    expect(worker.policy.watermark).toBe(3);
    expect(hearPolicy(worker, 'policy:8')).toBe(true);
    expect(worker.policy.watermark).toBe(8);
    expect(hearPolicy(worker, newCallId())).toBe(false);
  });
});
