import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, probeTool } from '../testing/driver-fixture.ts';
import { atRemote, look, put, useGitFixture } from '../testing/git-fixture.ts';

const { commitOf, fixture, makeClone, makeRemote } = useGitFixture({ beforeAll, afterAll });

describe('CL-2: git.push', () => {
  it('sends a commit to a branch of a bare repository, and the same again is the same', async () => {
    const workspace = await makeClone();
    const remote = await makeRemote();
    await put(workspace, 'a.txt', 'two\n');
    const commit = await commitOf(workspace);
    const args = { remote, branch: 'main', commit, expected: 'absent' };
    expect(await callTool(fixture().driver, 'git.push', workspace, args)).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      data: { branch: 'main', commit, before: null },
      evidence: [{ kind: 'remote-ref', detail: commit }],
    });
    expect(atRemote(remote, 'rev-parse', 'main')).toBe(commit);
    expect(atRemote(remote, 'log', '-1', '--format=%s', 'main')).toBe('change');
    const { expected: _none, ...again } = args;
    expect(await callTool(fixture().driver, 'git.push', workspace, again)).toMatchObject({ status: 'ok' });
    await put(workspace, 'a.txt', 'three\n');
    const next = await commitOf(workspace, 'next');
    expect(
      await callTool(fixture().driver, 'git.push', workspace, { ...args, commit: next, expected: commit }),
    ).toMatchObject({ status: 'ok' });
    expect(atRemote(remote, 'rev-list', '--count', 'main')).toBe('3');
  });

  it('never overwrites: what is no descendant is refused, and nothing is moved', async () => {
    const [workspace, other] = [await makeClone(), await makeClone({ 'other.txt': 'x\n' })];
    const remote = await makeRemote();
    await put(other, 'other.txt', 'y\n');
    const theirs = await commitOf(other);
    await callTool(fixture().driver, 'git.push', other, { remote, branch: 'main', commit: theirs });
    await put(workspace, 'a.txt', 'two\n');
    const commit = await commitOf(workspace);
    const refused = await callTool(fixture().driver, 'git.push', workspace, { remote, branch: 'main', commit });
    expect(refused).toMatchObject({ status: 'error', sideEffect: 'none' });
    expect(atRemote(remote, 'rev-parse', 'main')).toBe(theirs);
    const args = { remote, branch: 'main', commit, expected: 'absent' };
    expect(await errorType(callTool(fixture().driver, 'git.push', workspace, args))).toBe('stale_version');
    const stale = { remote, branch: 'main', commit: theirs };
    expect(await errorType(callTool(fixture().driver, 'git.push', workspace, stale))).toBe('stale_version');
  });

  it('RE-2: its probe tells by the ref of the remote, also when others have pushed on top', async () => {
    const workspace = await makeClone();
    const remote = await makeRemote();
    await put(workspace, 'a.txt', 'two\n');
    const commit = await commitOf(workspace);
    const args = { remote, branch: 'main', commit };
    const probe = () => probeTool(fixture().driver, 'git.push', workspace, args, undefined);
    expect(await probe()).toEqual({ answer: 'absent', fence: false });
    await callTool(fixture().driver, 'git.push', workspace, args);
    expect(await probe()).toMatchObject({ answer: 'found', receipt: { evidence: [{ detail: commit }] } });
    await put(workspace, 'a.txt', 'three\n');
    const next = await commitOf(workspace, 'next');
    await callTool(fixture().driver, 'git.push', workspace, { ...args, commit: next });
    expect(await probe()).toMatchObject({ answer: 'found' });
  });

  it('reaches no repository outside of the directories that are allowed', async () => {
    const workspace = await makeClone();
    const outside = join(fixture().root, `bare.git`);
    execFileSync('git', ['init', '--quiet', '--bare', outside]);
    const link = join(fixture().base, 'remotes', 'link.git');
    symlinkSync(outside, link);
    const empty = join(fixture().base, 'remotes', 'empty');
    mkdirSync(empty, { recursive: true });
    const commit = look(workspace, 'rev-parse', 'HEAD');
    for (const remote of [
      outside,
      link,
      empty,
      workspace.root,
      '/',
      '/etc',
      join(fixture().base, 'remotes', 'none'),
      `${fixture().base}/remotes/../state`,
    ])
      expect(
        await errorType(callTool(fixture().driver, 'git.push', workspace, { remote, branch: 'main', commit })),
        remote,
      ).toBe('denied_by_policy');
  });
});
