import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, probeTool } from '../testing/driver-fixture.ts';
import { data, look, put, useGitFixture } from '../testing/git-fixture.ts';

const { fixture, makeClone } = useGitFixture({ beforeAll, afterAll });

describe('CL-2: git.commit', () => {
  it('commits what changed, new and deleted files too, in the name of the user and by the agent', async () => {
    const workspace = await makeClone({ 'a.txt': 'one\n', 'gone.txt': 'x\n', '.gitignore': 'ignored\n' });
    const parent = look(workspace, 'rev-parse', 'HEAD');
    await put(workspace, 'a.txt', 'one\ntwo\n');
    await put(workspace, 'dir/new.txt', 'new\n');
    await put(workspace, 'ignored', 'x');
    rmSync(join(workspace.root, 'gone.txt'));
    const made = await callTool(fixture().driver, 'git.commit', workspace, { message: 'Subject\n\nBody of it.' });
    expect(made).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      data: {
        branch: 'main',
        parent,
        changed: 3,
        files: [
          { path: 'a.txt', added: 1, deleted: 0 },
          { path: 'dir/new.txt', added: 1, deleted: 0 },
          { path: 'gone.txt', added: 0, deleted: 1 },
        ],
      },
    });
    expect(look(workspace, 'log', '-1', '--format=%H|%an|%ae|%cn|%B')).toBe(
      `${data(made)['commit']}|u|u@toolfabric.invalid|a for u|Subject\n\nBody of it.`,
    );
    expect(look(workspace, 'status', '--porcelain')).toBe('');
    look(workspace, 'fsck', '--strict');
  });

  it('commits only what was named, and nothing when the branch has moved or nothing changed', async () => {
    const workspace = await makeClone({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const head = look(workspace, 'rev-parse', 'HEAD');
    await put(workspace, 'a.txt', 'two\n');
    await put(workspace, 'b.txt', 'two\n');
    const args = { message: 'a', paths: ['a.txt'], expected_head: head };
    expect(data(await callTool(fixture().driver, 'git.commit', workspace, args))['changed']).toBe(1);
    expect(await errorType(callTool(fixture().driver, 'git.commit', workspace, { ...args, paths: ['b.txt'] }))).toBe(
      'stale_version',
    );
    await callTool(fixture().driver, 'git.commit', workspace, { message: 'rest' });
    expect(await errorType(callTool(fixture().driver, 'git.commit', workspace, { message: 'none' }))).toBe(
      'tool_failed',
    );
    expect(look(workspace, 'rev-list', '--count', 'HEAD')).toBe('3');
  });

  it('is the first commit of a repository that has none', async () => {
    const workspace = await makeClone();
    look(workspace, 'update-ref', '-d', 'HEAD');
    const made = await callTool(fixture().driver, 'git.commit', workspace, { message: 'first', expected_head: 'none' });
    expect(made).toMatchObject({ status: 'ok', data: { parent: null, changed: 1 } });
  });

  it('RE-2: its probe tells the commit again, and tells another one apart', async () => {
    const workspace = await makeClone();
    await put(workspace, 'a.txt', 'two\n');
    let intent: Json | undefined;
    const before = look(workspace, 'rev-parse', 'HEAD');
    await callTool(
      fixture().driver,
      'git.commit',
      workspace,
      { message: 'Subject\n' },
      {
        beginEffect: async (given) => {
          intent = given;
        },
      },
    );
    const probe = () => probeTool(fixture().driver, 'git.commit', workspace, { message: 'Subject\n' }, intent);
    expect(await probe()).toMatchObject({ answer: 'found', receipt: { data: { parent: before, changed: 1 } } });
    look(workspace, 'update-ref', 'refs/heads/main', before);
    expect(await probe()).toEqual({ answer: 'absent', fence: true });
    await put(workspace, 'a.txt', 'three\n');
    await callTool(fixture().driver, 'git.commit', workspace, { message: 'other' });
    expect(await probe()).toMatchObject({ answer: 'not_visible' });
  });
});
