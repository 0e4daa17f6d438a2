import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, isRoot, makeWorkspace } from '../testing/driver-fixture.ts';
import { atRemote, data, look, put, useGitFixture } from '../testing/git-fixture.ts';
import { git } from '../testing/git-repository.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

const { commitOf, fixture, makeClone, makeRemote } = useGitFixture({ beforeAll, afterAll });

const ask = (workspace: WorkspaceRecord, tool: string, args: Record<string, unknown> = {}) =>
  callTool(fixture().driver, tool, workspace, args);
const WRITES = [
  ['git.commit', { message: 'x' }],
  ['git.branch', { name: 'fix' }],
] as const;

describe('CL-2: the shapes of a repository', () => {
  it('with SHA-256 names is read, committed to, branched and pushed', async () => {
    const source = join(fixture().root, 'sha256');
    mkdirSync(source);
    git(source, 'init', '--quiet', '--initial-branch=main', '--object-format=sha256');
    writeFileSync(join(source, 'a.txt'), 'one\n');
    git(source, 'add', '--all');
    git(source, 'commit', '--quiet', '--message=first');
    const workspace = await makeWorkspace(fixture(), { type: 'clone', path: source });
    await put(workspace, 'a.txt', 'two\n');
    expect(data(await ask(workspace, 'git.status'))).toMatchObject({ clean: false, entries: [{ path: 'a.txt' }] });
    expect(String(data(await ask(workspace, 'git.diff'))['diff'])).toContain('+two');
    expect(await ask(workspace, 'git.branch', { name: 'fix' })).toMatchObject({ status: 'ok' });
    const commit = await commitOf(workspace);
    expect(commit).toMatch(/^[0-9a-f]{64}$/);
    look(workspace, 'fsck', '--strict');
    const remote = join(fixture().base, 'remotes', 'sha256.git');
    execFileSync('git', ['init', '--quiet', '--bare', '--object-format=sha256', '--initial-branch=main', remote]);
    if (isRoot) execFileSync('chown', ['-R', '50123:50123', remote]);
    const pushed = await ask(workspace, 'git.push', { remote, branch: 'fix', commit, expected: 'absent' });
    expect(pushed).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect(atRemote(remote, 'rev-parse', 'fix')).toBe(commit);
    const other = await makeRemote();
    expect(await ask(workspace, 'git.push', { remote: other, branch: 'fix', commit })).toMatchObject({
      status: 'error',
      sideEffect: 'none',
    });
    expect(atRemote(other, 'for-each-ref')).toBe('');
  });

  it('that says SHA-256 and has none is an error, and nothing of it is written', async () => {
    const workspace = await makeClone();
    const head = look(workspace, 'rev-parse', 'HEAD');
    await put(workspace, 'a.txt', 'two\n');
    await put(workspace, '.git/config', '[extensions]\n\tobjectformat = sha256\n');
    for (const [tool, args] of WRITES) expect(await errorType(ask(workspace, tool, args))).not.toBe('none');
    await put(workspace, '.git/config', '[core]\n\trepositoryformatversion = 0\n');
    expect(look(workspace, 'rev-parse', 'HEAD')).toBe(head);
    look(workspace, 'fsck', '--strict');
  });

  it('whose configuration is a link to one of the machine is read without it', async () => {
    const workspace = await makeClone();
    const config = join(workspace.root, '.git/config');
    rmSync(config);
    writeFileSync(join(fixture().base, 'secret.gitconfig'), '[extensions]\n\tobjectformat = sha256\n');
    symlinkSync(join(fixture().base, 'secret.gitconfig'), config);
    expect(await ask(workspace, 'git.status')).toMatchObject({ status: 'ok' });
  });

  it('whose .git is a file, as in a worktree, or a link, is refused by every tool of git', async () => {
    const main = await makeClone();
    const tree = await makeClone();
    look(main, 'worktree', 'add', '--quiet', join(fixture().base, 'tree'));
    for (const shape of ['file', 'link']) {
      rmSync(join(tree.root, '.git'), { recursive: true });
      if (shape === 'link') symlinkSync(join(main.root, '.git'), join(tree.root, '.git'));
      else execFileSync('cp', [join(fixture().base, 'tree/.git'), join(tree.root, '.git')]);
      const args = { remote: await makeRemote(), branch: 'main', commit: look(main, 'rev-parse', 'HEAD') };
      for (const [tool, given] of [...WRITES, ['git.status', {}], ['git.diff', {}], ['git.push', args]] as const)
        expect(`${tool} ${await errorType(ask(tree, tool, given))}`).toBe(`${tool} file_not_found`);
    }
    expect(look(main, 'for-each-ref', 'refs/heads/fix')).toBe('');
  });

  it('that takes objects from elsewhere is never written', async () => {
    const secret = await makeClone({ 'secret.txt': 'CANARY\n' });
    for (const name of ['alternates', 'http-alternates']) {
      const workspace = await makeClone();
      const head = look(workspace, 'rev-parse', 'HEAD');
      await put(workspace, `.git/objects/info/${name}`, `${join(secret.root, '.git/objects')}\n`);
      await put(workspace, 'a.txt', 'two\n');
      for (const [tool, args] of WRITES) expect(await errorType(ask(workspace, tool, args))).toBe('file_not_found');
      expect(look(workspace, 'rev-parse', 'HEAD')).toBe(head);
      const elsewhere = look(secret, 'rev-parse', 'HEAD');
      await put(workspace, '.git/refs/heads/main', `${elsewhere}\n`);
      const remote = await makeRemote();
      const pushed = { remote, branch: 'main', commit: elsewhere };
      expect(
        await errorType(ask(workspace, 'git.push', pushed).then((told) => expect(told.status).toBe('ok'))),
      ).not.toBe('none');
      expect(atRemote(remote, 'for-each-ref')).toBe('');
      const diff = await ask(workspace, 'git.diff').catch((thrown: Error) => thrown.message);
      expect(JSON.stringify(diff)).not.toContain('CANARY');
    }
    const workspace = await makeClone();
    rmSync(join(workspace.root, '.git/objects/info'), { recursive: true, force: true });
    symlinkSync(join(secret.root, '.git'), join(workspace.root, '.git/objects/info'));
    expect(await errorType(ask(workspace, 'git.commit', { message: 'x' }))).toBe('file_not_found');
    expect(existsSync(join(secret.root, '.git/packs'))).toBe(false);
  });
});
