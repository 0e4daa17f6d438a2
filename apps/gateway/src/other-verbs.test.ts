import { connectFabric, type FabricClient } from '@toolfabric/client';
import type { RpcRequest, TaskRecord } from '@toolfabric/contract';
import { FabricError, uuidv7 } from '@toolfabric/kernel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ALICE, type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';

const router = new ScriptedRouter();
let open: OpenGateway<FabricClient>;
beforeAll(async () => {
  open = await openGateway(connectFabric, router.ports());
});
afterAll(() => open.close());
beforeEach(() => {
  router.asked.length = 0;
});
const lastBody = () => JSON.parse(router.asked.at(-1)?.body ?? '');

const TASK: TaskRecord = {
  taskId: 't-00000000000000000000000000',
  actor: ALICE,
  title: 'mend it',
  workspace: { id: 'w1', source: { type: 'clone', path: '/srv/shop' } },
  state: 'open',
  createdAt: 5,
};
const SUMMARY = {
  name: 'workspace.read_file',
  version: '1.0.0',
  state: 'published',
  description: 'reads a file',
  risk: 'read',
  digest: 'd',
  modelDigest: 'm',
} as const;

describe('tasks', () => {
  it('are created as the actor of the token, with a key of their own', async () => {
    router.scripts.createTask = () => TASK;
    const created = await open
      .connect(open.alice)
      .createTask({ title: 'mend it', workspace: { type: 'clone', path: '/srv/shop' } });
    expect(created).toStrictEqual(TASK);
    const { requestKey, ...rest } = lastBody();
    expect(requestKey).toMatch(/^[0-9a-f-]{36}$/);
    expect(rest).toEqual({ actor: ALICE, title: 'mend it', workspace: { type: 'clone', path: '/srv/shop' } });
  });

  it('FD-5, PO-9: say what the task keeps to, all of it', async () => {
    const rules = {
      constraints: { writable: [], forbiddenHosts: ['*.example.com'], confirm: ['git.push'] },
      budget: { rounds: 20, callsPerTurn: 8, callsPerToolPerTurn: 4, wallMs: 3_600_000, spend: 500 },
      mode: 'serial',
    } satisfies Partial<TaskRecord>;
    const bounded: TaskRecord = { ...TASK, ...rules };
    router.scripts.createTask = () => bounded;
    expect(await open.connect(open.alice).createTask(rules)).toStrictEqual(bounded);
    expect(lastBody()).toMatchObject(rules);
  });

  it('are created once, however often the router does not answer', async () => {
    const made = new Map<string, TaskRecord>();
    router.scripts.createTask = ({ requestKey }: RpcRequest<'createTask'>) => {
      made.set(requestKey, TASK);
      return TASK;
    };
    router.losesAnswers = 20;
    await open.connect(open.alice).createTask({});
    expect(router.count('createTask')).toBe(21);
    expect(made.size).toBe(1);
  });

  it('are read and ended', async () => {
    router.scripts.getTask = () => TASK;
    router.scripts.endTask = () => ({ ...TASK, state: 'ended', outcome: 'succeeded', endedAt: 9 });
    const client = open.connect(open.alice);
    expect(await client.getTask(TASK.taskId)).toStrictEqual(TASK);
    expect(await client.endTask(TASK.taskId, 'succeeded')).toMatchObject({ state: 'ended', outcome: 'succeeded' });
    expect(lastBody()).toEqual({ actor: ALICE, taskId: TASK.taskId, outcome: 'succeeded' });
  });

  it.each([
    ['a title that is too long', { title: 'x'.repeat(501) }],
    ['a path that is empty', { workspace: { type: 'existing', path: '' } as const }],
    ['a path that is too long', { workspace: { type: 'clone', path: 'x'.repeat(5_000) } as const }],
  ])('are refused with %s', async (_what, task) => {
    const refused = open.connect(open.alice).createTask(task);
    await expect(refused).rejects.toMatchObject({ type: 'invalid_request' });
    expect(router.asked).toEqual([]);
  });

  it('carry the error of the router with its type, fields and advice', async () => {
    const fields = [{ field: '/workspace/path', expected: 'a directory below a root', got: 'a file' }];
    router.scripts.createTask = () => {
      throw new FabricError('workspace_refused', 'not below a root 漢'.repeat(300), { fields, hint: 'elsewhere' });
    };
    await expect(open.connect(open.alice).createTask({})).rejects.toMatchObject({
      type: 'workspace_refused',
      details: { fields, hint: 'elsewhere' },
    });
  });
});

it.each(['', 't-*', 't-00000000000000000000000000.x', 'x'.repeat(5_000)])(
  'a task id such as %j reaches nothing',
  async (taskId) => {
    const client = open.connect(open.alice);
    await expect(client.getTask(taskId)).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(client.endTask(taskId, 'failed')).rejects.toMatchObject({ type: 'invalid_request' });
    expect(router.asked).toEqual([]);
  },
);

it.each([
  ['read', 'unknown_tool'],
  ['a.*', 'unknown_tool'],
  ['a.b@new', 'unknown_version'],
])('a tool such as %j cannot be described: %s', async (tool, type) => {
  await expect(open.connect(open.alice).describeTool(tool)).rejects.toMatchObject({ type });
  expect(router.asked).toEqual([]);
});

describe('the catalogue', () => {
  it('is listed and described for the actor of the token', async () => {
    router.scripts.listTools = () => ({ tools: [SUMMARY], catalogueDigest: 'c' });
    const model = { name: SUMMARY.name, version: SUMMARY.version, capability: { b: 1, a: 2 }, input: {}, output: null };
    router.scripts.describeTool = () => ({ summary: SUMMARY, model });
    const client = open.connect(open.alice);
    expect(await client.listTools({ allStates: true })).toStrictEqual({ tools: [SUMMARY], catalogueDigest: 'c' });
    expect(lastBody()).toEqual({ actor: ALICE, allStates: true });
    const described = await client.describeTool('workspace.read_file@1.0.0');
    expect(described).toStrictEqual({ summary: SUMMARY, model });
    expect(JSON.stringify(described.model.capability)).toBe('{"b":1,"a":2}');
  });

  it('FD-1: an answer that breaks the contract between gateway and router is internal, not handed on', async () => {
    router.scripts.listTools = () => ({ tools: [{ ...SUMMARY, secret: 1 }], catalogueDigest: 'c' });
    await expect(open.connect(open.alice).listTools()).rejects.toMatchObject({ type: 'internal' });
  });
});

describe('the registry', () => {
  it('RG-3: hands the rights of the token on with every verb', async () => {
    router.scripts.putDraft = () => ({ ...SUMMARY, state: 'draft' });
    router.scripts.moveTool = ({ to }: RpcRequest<'moveTool'>) => ({ ...SUMMARY, state: to });
    const client = open.connect(open.alice);
    expect((await client.putDraft({ name: 'x', list: [1, 2] })).state).toBe('draft');
    const who = { actor: ALICE, rights: ['registry:publish'] };
    expect(lastBody()).toEqual({ ...who, contract: { name: 'x', list: [1, 2] } });
    const states = [];
    for (const verb of ['publish', 'deprecate', 'retire'] as const) {
      states.push((await client[verb]('workspace.read_file', '1.0.0')).state);
    }
    expect(states).toEqual(['published', 'deprecated', 'retired']);
    expect(lastBody()).toEqual({ ...who, name: 'workspace.read_file', version: '1.0.0', to: 'retired' });
    router.scripts.moveTool = ({ rights }: RpcRequest<'moveTool'>) => {
      throw new FabricError('forbidden', `needs a right, has ${rights.length}`);
    };
    await expect(open.connect(open.bob).publish('a.b', '1.0.0')).rejects.toMatchObject({
      type: 'forbidden',
      message: 'needs a right, has 0',
    });
  });

  it.each([
    ['a name that is none', 'read', '1.0.0'],
    ['a version that is none', 'a.b', '1'],
    ['a wildcard', 'a.*', '1.0.0'],
  ])('refuses %s', async (_what, name, version) => {
    const refused = open.connect(open.alice).publish(name, version);
    await expect(refused).rejects.toMatchObject({ type: 'invalid_request' });
    expect(router.asked).toEqual([]);
  });

  it.each([
    ['too_large', { text: 'x'.repeat(57 * 1024) }],
    ['too_deep', JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`)],
  ])('refuses a contract that is %s', async (type, contract) => {
    await expect(open.connect(open.alice).putDraft(contract)).rejects.toMatchObject({ type });
    expect(router.asked).toEqual([]);
  });
});

it('a request key that is none is refused for tasks as well', async () => {
  const client = open.connect(open.alice);
  router.scripts.createTask = () => TASK;
  await expect(client.createTask({ requestKey: 'x' })).rejects.toMatchObject({ type: 'request_key_out_of_range' });
  await expect(client.createTask({ requestKey: uuidv7() })).resolves.toStrictEqual(TASK);
});
