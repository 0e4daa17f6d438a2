import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, probeTool } from '../testing/driver-fixture.ts';
import { look, put, useGitFixture } from '../testing/git-fixture.ts';

const { fixture, makeClone } = useGitFixture({ beforeAll, afterAll });

describe('CL-2: git.branch', () => {
  it('makes a branch where the workspace is, and switches to it; files stay', async () => {
    const workspace = await makeClone();
    await put(workspace, 'a.txt', 'two\n');
    const made = await callTool(fixture().driver, 'git.branch', workspace, { name: 'fix/one' });
    expect(made).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      data: { branch: 'fix/one', from: 'main', switched: true, commit: look(workspace, 'rev-parse', 'main') },
      evidence: [{ kind: 'ref', ref: 'refs/heads/fix/one' }],
    });
    expect(look(workspace, 'symbolic-ref', 'HEAD')).toBe('refs/heads/fix/one');
    expect(readFileSync(join(workspace.root, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('stays where it is when asked to, and never moves a branch', async () => {
    const workspace = await makeClone();
    await callTool(fixture().driver, 'git.branch', workspace, { name: 'kept', switch: false });
    expect(look(workspace, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(await errorType(callTool(fixture().driver, 'git.branch', workspace, { name: 'kept' }))).toBe(
      'stale_version',
    );
  });

  it.each(['../x', 'a..b', 'x.lock', '.x', 'a//b', 'a/', 'HEAD', '-d', 'a/.b', 'x.'])(
    'refuses the name %j',
    async (name) => {
      const workspace = await makeClone();
      expect(await errorType(callTool(fixture().driver, 'git.branch', workspace, { name }))).toBe('invalid_arguments');
    },
  );

  it('RE-2: its probe tells by the ref', async () => {
    const workspace = await makeClone();
    const commit = look(workspace, 'rev-parse', 'HEAD');
    const intent = { ref: 'refs/heads/probed', commit, from: 'refs/heads/main', switch: false };
    const probe = () => probeTool(fixture().driver, 'git.branch', workspace, { name: 'probed', switch: false }, intent);
    expect(await probe()).toEqual({ answer: 'absent', fence: true });
    await callTool(fixture().driver, 'git.branch', workspace, { name: 'probed', switch: false });
    expect(await probe()).toMatchObject({ answer: 'found', receipt: { sideEffect: 'confirmed' } });
    expect(
      await probeTool(fixture().driver, 'git.branch', workspace, { name: 'x' }, { ...intent, commit: '0'.repeat(40) }),
    ).toMatchObject({
      answer: 'not_visible',
    });
  });
});
