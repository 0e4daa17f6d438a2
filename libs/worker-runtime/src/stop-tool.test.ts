import { Outcome } from '@toolfabric/contract';
import { type FabricError, PACES } from '@toolfabric/kernel';
import type { WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AnyTool } from './define-tool.ts';
import { hurriedClock } from './testing/hurried-clock.ts';
import { Rig, type Sent } from './testing/rig.ts';
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

/** The result that stands on the bus at the end, which is also what the claim says. */
const endOf = async ({ callId, sequence }: Sent, claimless = false): Promise<Outcome> => {
  const { outcome } = await waitFor(() => rig.result(callId), { what: 'a result' });
  await waitFor(async () => !(await rig.has(sequence)), { what: 'the acknowledgement' });
  const claim = await rig.claim(callId);
  if (claimless) expect(claim).toBeUndefined();
  else expect(claim).toMatchObject({ state: 'done', outcome });
  expect(Outcome.safeParse(outcome).success).toBe(true);
  return outcome;
};

type SendOptions = Parameters<Rig['send']>[0];
const run = async (tool: AnyTool, send: SendOptions = {}): Promise<Outcome> => {
  await rig.start([tool], { clock: hurriedClock });
  return endOf(await rig.send(send), send.claim === 'none');
};

const limits = (timeoutMs: number, outputBytes = 4_096) => ({
  decision: { policyVersion: 'p', rule: 'r', limits: { timeoutMs, outputBytes } },
});

describe('an execution that is stopped', () => {
  it('RE-4: at its deadline ends expired when nothing began', async () => {
    const tool = toolOf(async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      throw new Error('whatever');
    });
    expect(await run(tool, { deadline: Date.now() + 300 })).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { type: 'expired' },
    });
    await rig.stopAll();
    expect(await run(tool, limits(100))).toMatchObject({ error: { type: 'expired' } });
  });

  it.each([0, 5_000])(
    'RE-4: that comes %i ms after its deadline begins nothing, however quick its tool is',
    async (ms) => {
      let wrote = false;
      const tool = toolOf(async (ctx) => {
        await ctx.beginEffect({});
        wrote = true;
        return done();
      });
      expect(await run(tool, { deadline: Date.now() - ms })).toMatchObject({
        status: 'error',
        sideEffect: 'none',
        error: { type: 'expired' },
      });
      expect(wrote).toBe(false);
    },
  );

  it('RE-4: after its effect began ends unknown, with the effect possible', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      throw new Error('whatever');
    });
    expect(await run(tool, limits(100))).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
  });

  it('RE-4: keeps the receipt that the tool still brings', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      return done();
    });
    expect(await run(tool, limits(100))).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
  });

  it.each([
    [false, 'error', 'none'],
    [true, 'unknown', 'possible'],
  ])('RE-4: ends without a tool that never gives up (begun: %s): %s', async (begins, status, sideEffect) => {
    const held = new HeldTool({ begins });
    expect(await run(held.tool, limits(100))).toMatchObject({ status, sideEffect });
    expect(held.runs).toHaveLength(1);
    held.runs[0]?.finish(done({ summary: 'too late' }));
  });

  it('RE-4: lets nothing begin any more, neither while it stops nor afterwards', async () => {
    const refused: unknown[] = [];
    const late = Promise.withResolvers<void>();
    const tool = toolOf(async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      await ctx.beginEffect({}).catch((error: FabricError) => refused.push(error.type));
      await late.promise;
      await ctx.beginEffect({}).catch((error: FabricError) => refused.push(error.type));
      refused.push('end');
      return done();
    });
    expect(await run(tool, limits(100))).toMatchObject({ status: 'error', error: { type: 'expired' } });
    late.resolve();
    await waitFor(() => refused.length === 3);
    expect(refused).toEqual(['expired', 'expired', 'end']);
  });
});

describe('a beginning whose answer comes too late', () => {
  it('RE-4: is stored, and still lets nothing be written: the execution was given up', async () => {
    const answered = Promise.withResolvers<void>();
    const steps: string[] = [];
    const slow: WorkerPorts = {
      ...ports,
      claims: {
        get: (key) => ports.claims.get(key),
        create: (key, value) => ports.claims.create(key, value),
        update: async (key, value, revision) => {
          const stored = await ports.claims.update(key, value, revision);
          if (value.state === 'started') await answered.promise;
          return stored;
        },
        remove: (key, revision) => ports.claims.remove(key, revision),
        keys: (prefix) => ports.claims.keys(prefix),
        lastRevision: () => ports.claims.lastRevision(),
      },
    };
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({}).catch((error: FabricError) => {
        steps.push(`refused: ${error.type}`);
        throw error;
      });
      steps.push('written');
      return done();
    });
    await rig.start([tool], { clock: hurriedClock, ports: slow });
    const outcome = await endOf(await rig.send(limits(100)));
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'expired' } });
    answered.resolve();
    await waitFor(() => steps.length > 0);
    expect(steps).toEqual(['refused: expired']);
  });
});

describe('a claimless execution', () => {
  const read = { claim: 'none', effect: 'none' } as const;

  it('answers without a claim', async () => {
    expect(
      await run(
        toolOf(async () => answer({ data: [1] })),
        read,
      ),
    ).toMatchObject({ status: 'ok', data: [1] });
  });

  it('has no effect to begin', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      return done();
    });
    expect(await run(tool, read)).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'internal' } });
  });
});

describe('a probe', () => {
  const probe = { mode: 'probe', claim: 'none', effect: 'none', intent: { to: 'a.md' } } as const;
  const neverRun = async () => {
    throw new Error('a probe runs nothing');
  };

  it('RE-2: gets the intent of the earlier execution, and reports what it found', async () => {
    const tool = toolOf(neverRun, {
      probe: async (_ctx, args, intent) => ({
        answer: 'found',
        receipt: done({ data: { args, intent } as NonNullable<Outcome['data']> }),
      }),
    });
    const outcome = await run(tool, { ...probe, args: { path: 'a' } });
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'none',
      data: { answer: 'found', receipt: { data: { args: { path: 'a' }, intent: { to: 'a.md' } } } },
    });
  });

  it('RE-2: brings a receipt whose output fits the budget, also when the whole answer does not', async () => {
    const receipt = done({ data: 'x'.repeat(3_990), evidence: Array(20).fill({ kind: 'note', ref: 'y'.repeat(300) }) });
    const tool = toolOf(neverRun, { probe: async () => ({ answer: 'found', receipt }) });
    expect(await run(tool, { ...probe, ...limits(20_000, 4_096) })).toMatchObject({
      data: { answer: 'found', receipt },
    });
  });

  it('RE-2: brings a receipt over the budget cut to it, and with what proves the effect', async () => {
    const receipt = done({ data: 'x'.repeat(9_000) });
    const tool = toolOf(neverRun, { probe: async () => ({ answer: 'found', receipt }) });
    const outcome = await run(tool, { ...probe, ...limits(20_000, 4_096) });
    const { data: _data, ...rest } = receipt;
    expect(outcome).toMatchObject({ data: { answer: 'found', receipt: { ...rest, summary: expect.any(String) } } });
    const receiptData = (outcome.data as { receipt: Outcome }).receipt.data;
    expect(Buffer.byteLength(JSON.stringify(receiptData))).toBeLessThanOrEqual(4_096);
  });

  it('RE-2: whose receipt nobody could read again is an error and no answer', async () => {
    const receipt = { ...done(), more: 1 } as Outcome;
    const tool = toolOf(neverRun, { probe: async () => ({ answer: 'found', receipt }) });
    const outcome = await run(tool, probe);
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'tool_failed' } });
    expect(outcome).not.toHaveProperty('data');
  });

  it('RE-2: that throws, or that the tool does not have, is an error and no answer', async () => {
    const throwing = toolOf(neverRun, { probe: neverRun });
    expect(await run(throwing, probe)).toMatchObject({ status: 'error', error: { type: 'tool_failed' } });
    await rig.stopAll();
    expect(await run(toolOf(neverRun), probe)).toMatchObject({ status: 'error', error: { type: 'internal' } });
  });
});
