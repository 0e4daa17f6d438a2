import type { Approver } from '@toolfabric/contract';
import { uuidv7 } from '@toolfabric/kernel';
import { taskKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, RouterWorld, type WorldTool } from './support/router-world.ts';

let world: RouterWorld;

const PATH_INPUT = {
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: { path: { type: 'string', maxLength: 500, description: 'What is written.' } },
};
const URL_INPUT = {
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: { url: { type: 'string', maxLength: 500, description: 'Where to.' } },
};
const WRITE: WorldTool = {
  contract: {
    name: 'notes.write',
    input: PATH_INPUT,
    governance: { risk: 'workspace_write', idempotent: true, writes: ['/path'] },
  },
  effect: 'none',
  handle: async () => ({}),
};
const FETCH: WorldTool = {
  contract: { name: 'notes.fetch', input: URL_INPUT },
  effect: 'none',
  handle: async (args) => ({ trust: 'untrusted', origin: new URL(String(args['url'])).origin }),
};
const SEND: WorldTool = {
  contract: { name: 'notes.look_up', input: URL_INPUT, governance: { hosts: ['/url'] } },
  effect: 'none',
  handle: async () => ({}),
};

beforeAll(async () => {
  world = await RouterWorld.start({ routers: 2, tools: [WRITE, FETCH, SEND] });
});
afterAll(() => world.stop());

const grace: Approver = {
  tenant: ADA.tenant,
  user: 'grace',
  agent: 'console',
  tokenId: 't-g',
  rights: ['tasks:widen'],
};
const widen = (taskId: string, more: { writable?: string[]; hosts?: string[]; note?: string }, approver = grace) =>
  world.front.ask('widenTask', { approver, taskId, ...more });
const errorOf = async (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (thrown: { type?: string }) => thrown.type,
  );
const stored = async (taskId: string) => (await world.bus.tasks.get(taskKey(ADA.tenant, taskId)))?.value;

describe('PO-7: the scope of a task is widened by an act of its own', () => {
  it('not by an agent, nor by whoever the task works for, nor from another tenant; and nothing changes', async () => {
    const taskId = await world.task({ constraints: { writable: ['src/**'] } });
    const more = { writable: ['docs/**'] };
    expect(await errorOf(widen(taskId, more, { ...grace, rights: [] }))).toBe('forbidden');
    expect(await errorOf(widen(taskId, more, { ...grace, user: ADA.user }))).toBe('forbidden');
    expect(await errorOf(widen(taskId, more, { ...grace, tenant: 'rival' }))).toBe('not_found');
    expect(await errorOf(widen('t-none', more))).toBe('not_found');
    expect(await errorOf(widen(taskId, {}))).toBe('invalid_request');
    expect(await errorOf(widen(taskId, { writable: ['../**'] }))).toBe('invalid_request');
    expect((await stored(taskId))?.widened).toBeUndefined();
    expect(await world.tell({ taskId, tool: 'notes.write', args: { path: 'docs/a.md' } })).toBe('constraint_violated');
  });

  it('is recorded with who and when, once however often it is said, and holds for the next call on every router', async () => {
    const requestKey = uuidv7();
    const request = { requestKey, constraints: { writable: ['src/**'] } };
    const taskId = await world.task(request);
    for (let n = 0; n < 6; n += 1)
      expect(await world.tell({ taskId, tool: 'notes.write', args: { path: `docs/${n}.md` } })).toBe(
        'constraint_violated',
      );
    const widened = await widen(taskId, { writable: ['docs/**'], note: 'for the report' });
    expect(widened.widened).toEqual([
      { by: 'grace', at: expect.any(Number), writable: ['docs/**'], note: 'for the report' },
    ]);
    expect((await widen(taskId, { writable: ['docs/**'] })).widened).toHaveLength(1);
    for (let n = 0; n < 6; n += 1)
      expect(await world.tell({ taskId, tool: 'notes.write', args: { path: `docs/${n}.md` } })).toBe('queued');
    expect(await world.tell({ taskId, tool: 'notes.write', args: { path: 'package.json' } })).toBe(
      'constraint_violated',
    );
    // A retry of the request that made it still finds it.
    expect(await world.task(request)).toBe(taskId);
  });

  it('RS-6: a host that a person permitted by name is no other origin any more, and every other one is', async () => {
    const actor = { ...ADA, user: 'hal' };
    const taskId = await world.task({ actor });
    const send = (url: string) => world.front.call({ actor, taskId, tool: 'notes.look_up', args: { url } });
    const read = await world.front.call({ actor, taskId, tool: 'notes.fetch', args: { url: 'https://page.example/' } });
    await world.ended(read.callId, actor);
    expect((await send('https://api.example/?q=1')).state).toBe('awaiting_approval');
    await widen(taskId, { hosts: ['api.example'] });
    await expect.poll(async () => (await send('https://api.example/?q=2')).state).toBe('queued');
    expect((await send('https://evil.example/?q=3')).state).toBe('awaiting_approval');
  });

  it('not after the task has ended, and twenty times at most', async () => {
    const taskId = await world.task({ constraints: { writable: ['src/**'] } });
    for (let n = 0; n < 20; n += 1) await widen(taskId, { writable: [`d${n}/**`] });
    expect(await errorOf(widen(taskId, { writable: ['one-more/**'] }))).toBe('invalid_request');
    await world.front.ask('endTask', { actor: ADA, taskId, outcome: 'succeeded' });
    expect(await errorOf(widen(taskId, { hosts: ['a.example'] }))).toBe('task_ended');
  });
});
