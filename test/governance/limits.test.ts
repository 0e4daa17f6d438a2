import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, RouterWorld, type WorldTool } from './support/router-world.ts';

let world: RouterWorld;

const LONG: WorldTool = {
  contract: { name: 'notes.find' },
  effect: 'none',
  handle: async (_args, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }));
    throw ctx.signal.reason;
  },
};
const WIDE: WorldTool = {
  contract: { name: 'notes.list' },
  effect: 'none',
  handle: async () => ({ data: { text: 'a word and another one '.repeat(100) } }),
};
const CODE: WorldTool = {
  contract: {
    name: 'notes.compute',
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['key'],
      properties: { key: { type: 'string', maxLength: 50, description: 'What it is called.' } },
    },
    execution: { isolation: 'process' },
    governance: { risk: 'privileged', operation_key: '{/key}', reconcile: { by: 'probe' } },
  },
  effect: 'outside',
  handle: async () => ({ evidence: [{ kind: 'run', ref: '1' }] }),
};
const OUTSIDE: WorldTool = {
  contract: { name: 'notes.fetch' },
  effect: 'none',
  handle: async () => ({ trust: 'untrusted', origin: 'https://page.example' }),
};

const policyDir = mkdtempSync(join(tmpdir(), 'toolfabric-limits-'));

beforeAll(async () => {
  const folder = join(policyDir, 'tenants', ADA.tenant);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'code.cedar'),
    '@id("code") permit (principal, action in Action::"privileged", resource);',
  );
  world = await RouterWorld.start({ tools: [LONG, WIDE, CODE, OUTSIDE], policyDir });
});
afterAll(async () => {
  await world.stop();
  rmSync(policyDir, { recursive: true });
});

const ended = async (changes: Parameters<RouterWorld['front']['call']>[0]) => {
  const { callId } = await world.front.call(changes);
  return { view: await world.ended(callId), record: (await world.bus.calls.get(callKey(ADA.tenant, callId)))?.value };
};

describe('PO-1: the least limits reach the executor', () => {
  it('the request says how long: the executor ends it then', async () => {
    const taskId = await world.task();
    const { view, record } = await ended({ taskId, tool: 'notes.find', limits: { timeoutMs: 150 } });
    expect(view.result).toMatchObject({ status: 'error', decision: { limits: { timeoutMs: 150 } } });
    expect(view.result?.usage?.durationMs ?? 0).toBeLessThan(9_000);
    expect(record?.limits).toEqual({ timeoutMs: 150 });
  });

  it('the task says how much: the executor cuts it, and says so', async () => {
    const taskId = await world.task({ constraints: { limits: { outputBytes: 300, outputTokens: 64 } } });
    const { view } = await ended({ taskId, tool: 'notes.list', limits: { outputBytes: 9_000 } });
    expect(view.result).toMatchObject({
      status: 'ok',
      decision: { limits: { outputBytes: 300, outputTokens: 64 } },
      truncation: [expect.objectContaining({ kept: expect.any(Number) })],
    });
    expect(JSON.stringify(view.result?.data).length).toBeLessThanOrEqual(300);
  });

  it('neither can say more than the contract', async () => {
    const taskId = await world.task({ constraints: { limits: { timeoutMs: 86_400_000 } } });
    const { view } = await ended({
      taskId,
      tool: 'notes.list',
      limits: { timeoutMs: 80_000_000, outputBytes: 49_152 },
    });
    const { view: plain } = await ended({ taskId: await world.task(), tool: 'notes.list' });
    expect(view.result?.decision?.limits).toEqual(plain.result?.decision?.limits);
  });

  it.each([{ timeoutMs: 1 }, { outputBytes: 10 }, { outputTokens: 1 }, { more: 1 }])(
    '%j is no limit',
    async (limits) => {
      const taskId = await world.task();
      await expect(world.front.call({ taskId, tool: 'notes.list', limits: limits as never })).rejects.toMatchObject({
        type: 'invalid_request',
      });
    },
  );
});

describe('RT-3: where code of a call may run', () => {
  const propose = (user: string, taskId: string, tool: string) =>
    world.front.call({
      actor: { ...ADA, user },
      taskId,
      tool,
      ...(tool === 'notes.compute' ? { args: { key: user } } : {}),
    });

  it('who has read from outside gets a kernel of its own for it, or nothing', async () => {
    const clean = await world.task({ actor: { ...ADA, user: 'gil' } });
    const first = await propose('gil', clean, 'notes.compute');
    expect(first.result?.error).toBeUndefined();
    expect(first.state).toBe('awaiting_approval');
    const read = await propose('gil', clean, 'notes.fetch');
    await world.ended(read.callId, { ...ADA, user: 'gil' });
    const after = await propose('gil', clean, 'notes.compute');
    expect(after).toMatchObject({ state: 'refused', result: { error: { type: 'sandbox_unavailable' } } });
    expect((await propose('gil', clean, 'notes.list')).state).not.toBe('refused');
  });
});
