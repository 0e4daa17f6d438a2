import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RouterWorld } from './support/router-world.ts';

let world: RouterWorld;
const ran: string[] = [];
const told = { summary: 'Ann wrote from anna.kovacs@posta-magyar.hu', data: { phone: '+49 151 23456789', n: 12 } };

const input = (name: string) => ({
  type: 'object',
  additionalProperties: false,
  required: [name],
  properties: { [name]: { type: 'string', maxLength: 500, description: 'What it is about.' } },
});
const noting = async (_args: unknown, ctx: { callId: string }) => {
  ran.push(ctx.callId);
  return {};
};

beforeAll(async () => {
  const write = { risk: 'workspace_write', claimless: false, idempotent: true };
  world = await RouterWorld.start({
    routers: 1,
    tools: [
      {
        contract: { name: 'notes.write', input: input('path'), governance: { ...write, writes: ['/path'] } },
        effect: 'none',
        handle: noting,
      },
      { contract: { name: 'notes.run', governance: write }, effect: 'none', handle: noting },
      { contract: { name: 'notes.find' }, effect: 'none', handle: noting },
      {
        contract: { name: 'notes.reach', input: input('url'), governance: { hosts: ['/url'] } },
        effect: 'none',
        handle: noting,
      },
      {
        contract: { name: 'notes.mail', governance: { pii_allowed: false } },
        effect: 'none',
        handle: async () => told,
      },
    ],
  });
});
afterAll(() => world.stop());

const refused = async (taskId: string, tool: string, args: Record<string, string>) => {
  const before = ran.length;
  const view = await world.front.call({ taskId, tool, args });
  if (view.state !== 'refused') await world.ended(view.callId).catch(() => undefined);
  else expect(ran.length).toBe(before);
  return view.result?.error?.type ?? view.state;
};

describe('constraints of a task', () => {
  it('PO-9: nothing is written but what its globs name', async () => {
    const taskId = await world.task({ constraints: { writable: ['src/**', '*.md'] } });
    for (const path of ['package.json', '../x', '/etc/passwd', 'src/../package.json', 'srcx/a'])
      expect(await refused(taskId, 'notes.write', { path })).toBe('constraint_violated');
    for (const path of ['src/a.ts', './src/b/c.ts', 'README.md'])
      expect(await refused(taskId, 'notes.write', { path })).not.toBe('constraint_violated');
    expect(await refused(taskId, 'notes.run', { text: 'make' })).toBe('constraint_violated');
    expect(await refused(taskId, 'notes.find', { text: 'a' })).not.toBe('constraint_violated');
  });

  it('PO-9: forbidden hosts are not reached', async () => {
    const taskId = await world.task({ constraints: { forbiddenHosts: ['*.evil.example'] } });
    expect(await refused(taskId, 'notes.reach', { url: 'https://a.evil.example/x' })).toBe('constraint_violated');
    expect(await refused(taskId, 'notes.reach', { url: 'https://good.example/x' })).not.toBe('constraint_violated');
  });

  it('PO-9: what is to be confirmed waits for a person, by name and by intent', async () => {
    const taskId = await world.task({ constraints: { confirm: ['notes.find'] } });
    expect(await world.front.call({ taskId })).toMatchObject({ state: 'awaiting_approval' });
    expect((await world.front.call({ taskId: await world.task() })).state).toBe('queued');
  });

  it('PO-9: constraints that cannot be read make no task', async () => {
    const bad = world.task({ constraints: { writable: ['../**'] } });
    await expect(bad).rejects.toMatchObject({ type: 'invalid_request' });
  });
});

describe('personal data', () => {
  it('PO-8: is refused in arguments, with the field and without the text', async () => {
    const taskId = await world.task();
    const view = await world.front.call({ taskId, tool: 'notes.mail', args: { text: 'to li.wei@youxiang.cn' } });
    expect(view).toMatchObject({
      state: 'refused',
      result: { status: 'denied', error: { type: 'personal_data', fields: [{ field: '/text', got: 'email' }] } },
    });
    expect(JSON.stringify(view)).not.toContain('li.wei');
  });

  it('PO-8: does not leave the worker in results', async () => {
    const taskId = await world.task();
    const { callId } = await world.front.call({ taskId, tool: 'notes.mail', args: { text: 'hello' } });
    const { result } = await world.ended(callId);
    expect(JSON.stringify(result)).not.toMatch(/anna|151/);
    expect(result).toMatchObject({
      summary: expect.stringMatching(/^Ann wrote from \[redacted:pii:[0-9a-f]{8}\]$/),
      data: { phone: expect.stringMatching(/^\[redacted:pii:[0-9a-f]{8}\]$/), n: 12 },
    });
  });
});
