import type { Approver } from '@toolfabric/contract';
import { WIDEST } from '@toolfabric/governance';
import { systemClock, uuidv7 } from '@toolfabric/kernel';
import { callKey, changeRecord, taintKey, taskKey } from '@toolfabric/ledger';
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

  it('RS-6: such a host may be sent to after private content too, and no other one', async () => {
    const actor = { ...ADA, user: 'ida' };
    const taskId = await world.task({ actor });
    const send = (url: string) => world.front.call({ actor, taskId, tool: 'notes.look_up', args: { url } });
    const read = await world.front.call({ actor, taskId, tool: 'notes.fetch', args: { url: 'https://mail.example/' } });
    await world.ended(read.callId, actor);
    const asPrivate = <T extends { origin: string }>(mark: T) => ({ ...mark, private: true as const });
    await changeRecord(
      world.bus.taints,
      taintKey(actor),
      (record) => record && { ...record, marks: record.marks.map(asPrivate) },
      { clock: systemClock },
    );
    const raisedFor = async (url: string) => {
      const { callId } = await send(url);
      return (await world.bus.calls.get(callKey(ADA.tenant, callId)))?.value.decision.raisedBy;
    };
    const both = ['taint_sends_elsewhere', 'taint_private_elsewhere'];
    expect(await raisedFor('https://api.example/?q=1')).toEqual(both);
    await widen(taskId, { hosts: ['api.example'] });
    await expect.poll(async () => (await send('https://api.example/?q=2')).state).toBe('queued');
    expect(await raisedFor('https://evil.example/?q=3')).toEqual(both);
  });

  it('RS-6: a send that waits for a yes since before is proposed anew: that yes was for another level', async () => {
    const actor = { ...ADA, user: 'jan' };
    const taskId = await world.task({ actor });
    const send = (url: string) => world.front.call({ actor, taskId, tool: 'notes.look_up', args: { url } });
    const read = await world.front.call({ actor, taskId, tool: 'notes.fetch', args: { url: 'https://page.example/' } });
    await world.ended(read.callId, actor);
    const [permitted, other] = [await send('https://api.example/?q=1'), await send('https://b.example/?q=1')];
    await widen(taskId, { hosts: ['api.example'] });
    for (const call of [permitted, other]) {
      expect(call.state).toBe('awaiting_approval');
      await world.approve(call);
    }
    expect(await world.ended(permitted.callId, actor)).toMatchObject({
      state: 'denied',
      result: { sideEffect: 'none', error: { type: 'approval_changed' } },
    });
    expect((await world.ended(other.callId, actor)).state).toBe('ok');
    await expect.poll(async () => (await send('https://api.example/?q=1')).state).toBe('queued');
  });

  it('goes as far as its calls carry, and says where that is; a task at the bound writes on', async () => {
    const { most, bytes } = WIDEST.writable;
    const name = (n: number) => `${String(n).padStart(3, '0')}/${'x'.repeat(Math.floor(bytes / most) - 30)}/**`;
    const taskId = await world.task({ constraints: { writable: [name(0)] } });
    const names = Array.from({ length: most }, (_, n) => name(n));
    for (let at = 1; at < most; at += 17) await widen(taskId, { writable: names.slice(at, at + 17) });
    for (let n = 0; n < WIDEST.hosts.most; n += 10)
      await widen(taskId, { hosts: Array.from({ length: 10 }, (_, at) => `h${n + at}.example`) });
    const more = [{ writable: ['more/**'] }, { hosts: ['more.example'] }];
    for (const one of more)
      await expect(widen(taskId, one)).rejects.toMatchObject({ message: expect.stringContaining(`${most} at most`) });
    for (const glob of [name(0), name(most - 1)]) {
      const args = { path: glob.replace('**', 'a.md') };
      const write = await world.front.call({ taskId, tool: 'notes.write', args });
      expect((await world.ended(write.callId)).state).toBe('ok');
    }
    expect(await world.tell({ taskId, tool: 'notes.write', args: { path: 'more/a.md' } })).toBe('constraint_violated');
  });

  it('not after the task has ended, and twenty times at most', async () => {
    const taskId = await world.task({ constraints: { writable: ['src/**'] } });
    for (let n = 0; n < 20; n += 1) await widen(taskId, { writable: [`d${n}/**`] });
    expect(await errorOf(widen(taskId, { writable: ['one-more/**'] }))).toBe('invalid_request');
    await world.front.ask('endTask', { actor: ADA, taskId, outcome: 'succeeded' });
    expect(await errorOf(widen(taskId, { hosts: ['a.example'] }))).toBe('task_ended');
  });
});
