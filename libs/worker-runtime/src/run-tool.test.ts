import { Outcome } from '@toolfabric/contract';
import { FabricError, type FabricErrorDetails, PACES } from '@toolfabric/kernel';
import type { WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AnyTool } from './define-tool.ts';
import { hurriedClock } from './testing/hurried-clock.ts';
import { Rig, type Sent } from './testing/rig.ts';
import { answer, done, toolOf } from './testing/sample-tools.ts';

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

describe('an execution that the tool ends itself', () => {
  it('ends with its outcome, its receipt and how long it took', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({ to: 'a.md' });
      return done({ data: { id: 7 } });
    });
    const outcome = await run(tool);
    expect(outcome).toEqual({ ...done({ data: { id: 7 } }), usage: { durationMs: expect.any(Number) } });
  });

  it('gives the tool its call, its arguments and its limits, and stores its intent before the effect', async () => {
    let seen: unknown;
    const tool = toolOf(async (ctx, args) => {
      await ctx.beginEffect({ to: 'a.md' });
      const claim = await rig.claim(ctx.callId);
      seen = { args, actor: ctx.actor.user, limits: ctx.limits.timeoutMs, state: claim?.state, intent: claim?.intent };
      return done();
    });
    await run(tool, { args: { path: 'a' }, ...limits(9_000) });
    expect(seen).toEqual({
      args: { path: 'a' },
      actor: 'ada',
      limits: 9_000,
      state: 'started',
      intent: { to: 'a.md' },
    });
  });

  it('RS-2: that reports an effect which it never began is never told as none (L3)', async () => {
    const outcome = await run(toolOf(async () => done()));
    expect(outcome).toMatchObject({ status: 'unknown', sideEffect: 'possible', error: { type: 'internal' } });
    expect(outcome).not.toHaveProperty('evidence');
  });

  it.each([
    ['workspace', 'ok'],
    ['outside', 'unknown'],
  ] as const)('may leave out the beginning where it is simply run again: %s effect: %s', async (effect, status) => {
    expect(
      await run(
        toolOf(async () => done()),
        { effect, rerunnable: true },
      ),
    ).toMatchObject({ status });
  });

  it('RS-2: with an output over its budget keeps status, effect and evidence', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      return done({ data: 'x'.repeat(5_000) });
    });
    const outcome = await run(tool, limits(20_000, 1_000));
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'confirmed', evidence: done().evidence });
    expect(outcome.truncation).toMatchObject([{ stream: 'data', total: 5_000, unit: 'bytes' }]);
    expect(Buffer.byteLength(JSON.stringify(outcome.data))).toBeLessThanOrEqual(1_000);
  });

  it('RE-2: may say unknown by itself', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      return done({ status: 'unknown', sideEffect: 'possible' });
    });
    expect(await run(tool)).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
  });
});

const circular: Record<string, unknown> = { ...done() };
circular['data'] = circular;

describe('a tool that returns what is no outcome', () => {
  const broken: [string, unknown][] = [
    ['nothing', undefined],
    ['a summary of 5,000 characters', done({ summary: 'x'.repeat(5_000) })],
    ['65 evidences', done({ evidence: Array(65).fill({ kind: 'note', ref: '7' }) })],
    ['an extra key', { ...done(), more: 1 }],
    ['no number', done({ usage: { durationMs: Number.NaN } })],
    ['a big integer', done({ data: 1n as never })],
    ['itself inside', circular],
  ];

  it.each(broken)('RS-1: before its effect ends as tool_failed: %s', async (_name, returned) => {
    expect(await run(toolOf(async () => returned as Outcome))).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { type: 'tool_failed' },
    });
  });

  it.each(broken)('RE-2: after its effect began ends unknown, and is never stuck (L3): %s', async (_name, returned) => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      return returned as Outcome;
    });
    expect(await run(tool)).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
  });
});

describe('what a tool says that is too large for a message', () => {
  const large = 'x'.repeat(5_000);

  it('RE-2: an intent is refused before the effect begins', async () => {
    let wrote = false;
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({ text: 'x'.repeat(20_000) });
      wrote = true;
      return done();
    });
    expect(await run(tool)).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'tool_failed' } });
    expect(wrote).toBe(false);
  });

  it('an intent of no JSON is refused before the effect begins', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect(circular as never);
      return done();
    });
    expect(await run(tool)).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'tool_failed' } });
  });

  it('RS-2: evidence goes, and that the effect happened stays', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      return done({ evidence: Array(64).fill({ kind: 'note', ref: large }) });
    });
    expect(await run(tool)).toMatchObject({ status: 'ok', sideEffect: 'confirmed', summary: 'written' });
  });

  it('RS-2: an error that is returned keeps its type', async () => {
    const fields = Array(50).fill({ field: '/a', expected: large });
    const error = { type: 'stale_version', layer: 'tool', message: 'changed', retryable: false, fields } as const;
    const tool = toolOf(async () => answer({ status: 'error', error }));
    expect(await run(tool)).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'stale_version' } });
  });

  it.each<[string, FabricErrorDetails]>([
    ['with fields', { fields: Array(50).fill({ field: '/a', expected: large }) }],
    ['with a time that is no number', { retryAfterMs: Number.NaN }],
  ])('RS-2: an error that is thrown keeps its type: %s', async (_name, details) => {
    const tool = toolOf(async () => {
      throw new FabricError('stale_version', 'changed', details);
    });
    expect(await run(tool)).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'stale_version' } });
  });
});

describe('a tool that throws', () => {
  it('RS-1: before its effect ends as its own error, and nothing happened', async () => {
    const tool = toolOf(async () => {
      throw new FabricError('stale_version', 'the file changed', { hint: 'read it again' });
    });
    expect(await run(tool)).toMatchObject({
      status: 'error',
      summary: 'the file changed',
      sideEffect: 'none',
      error: { type: 'stale_version', layer: 'tool', retryable: false, hint: 'read it again' },
    });
  });

  it.each<[string, () => unknown]>([
    ['an error', () => new TypeError('secret /home/ada')],
    ['a text', () => 'secret'],
    ['nothing', () => undefined],
  ])('RT-8: something else before its effect: %s: tool_failed, without its text', async (_name, thrown) => {
    const outcome = await run(
      toolOf(async () => {
        throw thrown();
      }),
    );
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'tool_failed' } });
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });

  it('at once, outside of its promise, is no exception', async () => {
    const tool = toolOf(() => {
      throw new FabricError('not_a_file', 'a directory');
    });
    expect(await run(tool)).toMatchObject({ error: { type: 'not_a_file' } });
  });

  it.each<[string, unknown]>([
    ['its own error', new FabricError('stale_version', 'the file changed')],
    ['anything else', new TypeError('broken')],
  ])('RE-2: after its effect began ends unknown, by %s (L3)', async (_name, thrown) => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      throw thrown;
    });
    const outcome = await run(tool);
    expect(outcome).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
    expect(outcome).not.toHaveProperty('error');
  });

  it('for arguments that it does not understand ends as an error, before anything', async () => {
    const strict = toolOf(async () => done(), {
      args: z.strictObject({ path: z.string() }) as never,
    });
    expect(await run(strict, { args: { other: 1 } })).toMatchObject({ status: 'error', sideEffect: 'none' });
  });
});
