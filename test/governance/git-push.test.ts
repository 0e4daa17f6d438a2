import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let remotes = '';
let count = 0;

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'safe.directory=*', '-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

const worker = async (faults = '') => {
  await cluster.killAll('cli');
  const service = cluster.spawn('cli', faults, { TOOLFABRIC_GIT_REMOTES: remotes });
  await service.ready;
  return service;
};

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway']);
  remotes = join(cluster.directory, 'remotes');
  mkdirSync(remotes, { mode: 0o755 });
  execFileSync('chmod', ['755', cluster.directory]);
  await worker();
  client = cluster.client();
}, 60_000);
afterAll(() => cluster.stop());

const makeRemote = (): string => {
  count += 1;
  const remote = join(remotes, `r${count}.git`);
  git('init', '--quiet', '--bare', '--initial-branch=main', remote);
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', '50123:50123', remote]);
  return remote;
};

/** A task on a clone, with one commit more than its source. */
const prepare = async () => {
  const source = join(cluster.workspaceRoot, `source-${count}`);
  git('init', '--quiet', '--initial-branch=main', source);
  git('-C', source, 'commit', '--quiet', '--allow-empty', '--message=first');
  const workspace = { type: 'clone' as const, path: source };
  const { taskId } = await client.createTask({ title: 'push', workspace }, { timeoutMs: 20_000 });
  const args = { path: 'a.txt', old_text: '', new_text: 'one\n', expected_sha256: 'absent' };
  expect((await client.call({ taskId, tool: 'workspace.edit_file', args })).state).toBe('ok');
  expect((await client.call({ taskId, tool: 'git.branch', args: { name: 'fix/one' } })).state).toBe('ok');
  const committed = await client.call({ taskId, tool: 'git.commit', args: { message: 'Subject' } });
  expect(committed).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
  const { commit } = (committed.result?.data ?? {}) as { commit: string };
  return { taskId, commit };
};

const push = async (taskId: string, remote: string, commit: string): Promise<string> => {
  const { callId, state } = await client.startCall({
    taskId,
    tool: 'git.push',
    args: { remote, branch: 'fix/one', commit },
  });
  expect(state).toBe('awaiting_approval');
  await cluster.grant(callId);
  return callId;
};
const ENDS = ['ok', 'error', 'expired', 'dead_letter', 'denied'];

describe('CL-2: edit, branch, commit, and a push that a person approves', () => {
  it('the remote holds the commit, in the name of the user', async () => {
    const remote = makeRemote();
    const { taskId, commit } = await prepare();
    const end = await cluster.waitForState(await push(taskId, remote, commit), [...ENDS, 'unknown']);
    expect(end).toMatchObject({
      state: 'ok',
      result: { sideEffect: 'confirmed', evidence: [{ kind: 'remote-ref', detail: commit }] },
    });
    expect(git('-C', remote, 'log', '-1', '--format=%H %an %cn', 'fix/one')).toBe(`${commit} ada coder for ada`);
  });

  it.each(['worker.started', 'worker.after-write', 'worker.after-done'])(
    'RE-2: a worker that dies at %s: found out by the ref of the remote, and there once',
    async (point) => {
      const remote = makeRemote();
      const { taskId, commit } = await prepare();
      const armed = await worker(`${point}:kill`);
      const callId = await push(taskId, remote, commit);
      expect((await armed.exited).signal).toBe('SIGKILL');
      await worker();
      const end = await cluster.waitForState(callId, ENDS);
      expect(end).toMatchObject({ state: 'ok', result: { sideEffect: 'confirmed' } });
      expect(git('-C', remote, 'rev-parse', 'fix/one')).toBe(commit);
      expect(git('-C', remote, 'rev-list', '--count', 'fix/one')).toBe('2');
    },
  );

  it('a remote that no operator allows is refused before anything is sent', async () => {
    const { taskId, commit } = await prepare();
    const end = await cluster.waitForState(await push(taskId, '/etc', commit), [...ENDS, 'unknown']);
    expect(end).toMatchObject({ state: 'error', result: { sideEffect: 'none', error: { type: 'denied_by_policy' } } });
  });
});
