import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { FabricError, type Json, sha256Hex, uuidv7 } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let ada: FabricClient;
let bob: FabricClient;
let rival: FabricClient;
let taskId: string;
let workspace: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['cli', 'truth', 'router', 'gateway']);
  [ada, bob, rival] = [cluster.client(), cluster.client({ user: 'bob' }), cluster.client({ tenant: 'rival' })];
  workspace = join(cluster.workspaceRoot, 'repo');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'a.txt'), 'hello\n');
  taskId = (await ada.createTask({ title: 'bad input', workspace: { type: 'existing', path: workspace } })).taskId;
}, 60_000);
afterAll(() => cluster.stop());

const call = (tool: string, args: Record<string, Json> | string, more: { requestKey?: string } = {}) =>
  ada.call({ taskId, tool, args, ...more });
const nest = (depth: number): Json => (depth === 0 ? 1 : { a: nest(depth - 1) });

describe('bad input gets a typed error, and nothing is lost or hangs', () => {
  it.each<[string, string, Record<string, Json> | string, string]>([
    ['an unknown tool', 'workspace.fly', {}, 'unknown_tool'],
    ['an unknown version', 'workspace.read_file@9.9.9', { path: 'a.txt' }, 'unknown_version'],
    ['an internal tool', 'workspace.prepare', {}, 'unknown_tool'],
    ['a missing argument', 'workspace.read_file', {}, 'invalid_arguments'],
    ['an argument of the wrong type', 'workspace.read_file', { path: 7 }, 'invalid_arguments'],
    ['an unknown field', 'workspace.read_file', { path: 'a.txt', mode: 'x' }, 'invalid_arguments'],
    ['arguments that are a list', 'workspace.read_file', '[]', 'invalid_arguments'],
    ['arguments that are no JSON', 'workspace.read_file', '{"path":', 'invalid_arguments'],
    ['deep nesting', 'workspace.read_file', { path: 'a.txt', x: nest(200) }, 'too_deep'],
    ['arguments over the size limit', 'workspace.read_file', { path: 'x'.repeat(60_000) }, 'too_large'],
    ['a path that leaves', 'workspace.read_file', { path: '../../etc/passwd' }, 'path_outside_workspace'],
    ['an absolute path', 'workspace.read_file', { path: '/etc/passwd' }, 'path_outside_workspace'],
    ['a missing file', 'workspace.read_file', { path: 'b.txt' }, 'file_not_found'],
  ])('RT-4: %s', async (_what, tool, args, type) => {
    const view = await call(tool, args);
    expect(view.result?.error).toMatchObject({ type, hint: expect.any(String) });
    expect(view.result).toMatchObject({ sideEffect: 'none' });
    expect(['error', 'denied']).toContain(view.result?.status);
  });

  it('RT-4: names the field, what is expected there, and what to do', async () => {
    const view = await call('workspace.read_file', { pth: 'a.txt' });
    expect(view.state).toBe('refused');
    expect(view.result?.error?.fields).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ field: '/path', expected: expect.any(String) }),
        expect.objectContaining({ field: '/pth', hint: expect.stringContaining('path') }),
      ]),
    );
    expect((await call('workspace.read_file', { path: 'a.txt' })).state).toBe('ok');
  });

  it('RS-6: what a file says is marked untrusted, with its origin', async () => {
    const view = await call('workspace.read_file', { path: 'a.txt' });
    expect(view.result).toMatchObject({ trust: 'untrusted', origin: `workspace:${taskId}` });
  });

  it('RS-4: another user or tenant sees neither task nor call, and cannot tell them from none', async () => {
    const { callId } = await call('workspace.read_file', { path: 'a.txt' });
    for (const other of [bob, rival]) {
      const refused = { type: 'not_found' };
      await expect(other.getCall(callId)).rejects.toMatchObject(refused);
      await expect(other.cancelCall(callId)).rejects.toMatchObject(refused);
      await expect(other.getTask(taskId)).rejects.toMatchObject(refused);
      await expect(other.endTask(taskId, 'failed')).rejects.toMatchObject(refused);
      await expect(other.watchCall(callId).next()).rejects.toMatchObject(refused);
      const view = await other.call({ taskId, tool: 'workspace.read_file', args: { path: 'a.txt' } });
      expect(view).toMatchObject({ state: 'refused', result: { error: { type: 'not_found' } } });
    }
  });

  it('no token, no call', async () => {
    for (const token of ['', 'nonsense', `tf_${'0'.repeat(64)}`]) {
      const stranger = connectFabric({ address: cluster.address, token });
      await expect(stranger.listTools()).rejects.toMatchObject({ type: 'unauthenticated' });
      stranger.close();
    }
  });

  it('PO-10: an ordinary token may not publish', async () => {
    await expect(ada.retire('workspace.read_file', '1.0.0')).rejects.toMatchObject({ type: 'forbidden' });
  });

  it('RE-1: a request key that was used for something else is a conflict; for the same it is the same call', async () => {
    const requestKey = uuidv7();
    const first = await call('truth.append', { identity: 'key' }, { requestKey });
    const again = await call('truth.append', { identity: 'key' }, { requestKey });
    expect(again).toEqual(first);
    const other = await call('truth.append', { identity: 'other' }, { requestKey });
    expect(other).toMatchObject({ state: 'refused', result: { error: { type: 'conflict' } } });
    expect(cluster.truth('key')).toHaveLength(1);
    expect(cluster.truth('other')).toHaveLength(0);
  });

  it.each([
    ['no UUIDv7', 'abc'],
    ['from long ago', uuidv7(Date.now() - 90 * 86_400_000)],
    ['from the future', uuidv7(Date.now() + 3_600_000)],
  ])('a request key that is %s', async (_what, requestKey) => {
    const outcome = await call('truth.noop', {}, { requestKey }).catch((error: unknown) => error);
    const type =
      outcome instanceof FabricError
        ? outcome.type
        : (outcome as { result?: { error?: { type: string } } }).result?.error?.type;
    expect(['request_key_out_of_range', 'invalid_request']).toContain(type);
  });

  it('RT-5: a stale precondition is refused before any effect', async () => {
    const args = { path: 'a.txt', old_text: 'hello', new_text: 'bye', expected_sha256: sha256Hex('something else') };
    const view = await call('workspace.edit_file', args);
    expect(view).toMatchObject({ state: 'error', result: { error: { type: 'stale_version' }, sideEffect: 'none' } });
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('hello\n');
  });

  it('a link that was made during the task leads nowhere outside', async () => {
    symlinkSync('/etc', join(workspace, 'link'));
    for (const path of ['link/passwd', 'link/../a.txt', 'link'])
      expect((await call('workspace.read_file', { path })).result?.error?.type).not.toBeUndefined();
  });

  it('an ended task takes no calls, and a retry of an earlier call still finds it', async () => {
    const task = await ada.createTask({ title: 'ends' });
    const proposal = { taskId: task.taskId, tool: 'truth.noop', args: {}, requestKey: uuidv7() };
    const first = await ada.call(proposal);
    await ada.endTask(task.taskId, 'succeeded');
    expect(await ada.call(proposal)).toEqual(first);
    const late = await ada.call({ ...proposal, requestKey: uuidv7() });
    expect(late).toMatchObject({ state: 'refused', result: { error: { type: 'task_ended' } } });
  });

  it('a workspace that vanished is said to be missing', async () => {
    const path = join(cluster.workspaceRoot, 'vanishing');
    mkdirSync(path);
    const task = await ada.createTask({ title: 'vanishes', workspace: { type: 'existing', path } });
    renameSync(path, `${path}-away`);
    const view = await ada.call({ taskId: task.taskId, tool: 'workspace.list_files', args: {} });
    expect(view.result?.error).toMatchObject({ type: 'workspace_missing', layer: 'sandbox' });
  });

  it.each([
    ['outside of the roots', '/etc'],
    ['that does not exist', '/nowhere/at/all'],
    ['that is relative', 'repo'],
  ])('a workspace %s is refused', async (_what, path) => {
    const making = ada.createTask({ title: 'x', workspace: { type: 'existing', path } });
    await expect(making).rejects.toMatchObject({
      type: expect.stringMatching(/workspace_(refused|missing)|invalid_request/),
    });
  });
});
