import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArtifactMemory } from '../testing/artifact-memory.ts';
import {
  type CallOptions,
  callTool,
  errorType,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { git, makeRepository } from '../testing/git-repository.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

interface Status {
  branch: string;
  commit: string;
  clean: boolean;
  entries: { path: string; state: string; index: string; worktree: string; from?: string }[];
}

describe.each([
  ['reachable', true],
  ['not reachable by its user', false],
])('git tools, state directory %s', (_, reachable) => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeEach(async () => {
    fixture = await makeFixture({ reachable });
    const source = await makeRepository(join(fixture.root, 'source'), {
      'a.txt': 'one\ntwo\n',
      'd/b.txt': 'b\n',
      'moved.txt': 'a long enough text to be found again\n',
    });
    workspace = await makeWorkspace(fixture, { type: 'clone', path: source });
  });
  afterEach(() => fixture.remove());

  const status = async (args: Record<string, unknown> = {}) =>
    (await callTool(fixture.driver, 'git.status', workspace, args)).data as unknown as Status;
  const diff = (args: Record<string, unknown> = {}, more: CallOptions = {}) =>
    callTool(fixture.driver, 'git.diff', workspace, args, more);
  /** As the user of the workspace, with its configuration. */
  const own = (...args: string[]) =>
    isRoot
      ? execFileSync(
          'setpriv',
          [
            `--reuid=${workspace.child?.uid}`,
            `--regid=${workspace.child?.gid}`,
            '--clear-groups',
            'git',
            '-C',
            workspace.root,
            '-c',
            'safe.directory=*',
            ...args,
          ],
          { env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' }, encoding: 'utf8' },
        )
      : git(workspace.root, ...args);

  it('CL-2: a clean workspace, and every kind of change', async () => {
    expect(await status()).toMatchObject({ branch: 'main', clean: true, entries: [] });
    await putFile(workspace, 'a.txt', 'one\nTWO\n');
    await putFile(workspace, 'new dir/ü.txt', 'x');
    rmSync(join(workspace.root, 'd/b.txt'));
    const seen = await status({ untracked: 'all' });
    expect(seen.entries.map(({ path, state, worktree }) => `${state} ${worktree} ${path}`)).toEqual([
      'changed M a.txt',
      'changed D d/b.txt',
      'untracked ? new dir/ü.txt',
    ]);
    expect((await status({ path: 'd' }).catch(() => undefined))?.entries.length ?? 1).toBe(1);
    const outcome = await diff();
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'none',
      data: {
        files_total: 2,
        files: [
          { path: 'a.txt', added: 1, removed: 1 },
          { path: 'd/b.txt', added: 0, removed: 1 },
        ],
        diff: expect.stringContaining('-two\n+TWO\n'),
      },
    });
    expect((await diff({ path: 'd/b.txt' })).data).toMatchObject({ files_total: 1 });
  });

  if (reachable) {
    it('commits, staged parts, renames, a repository without a commit, and none at all', async () => {
      if (!isRoot) return;
      own('mv', 'moved.txt', 'found.txt');
      await putFile(workspace, 'a.txt', 'one\n');
      expect((await status()).entries).toContainEqual(
        expect.objectContaining({ state: 'renamed', path: 'found.txt', from: 'moved.txt' }),
      );
      expect((await diff({ compare: 'staged' })).data).toMatchObject({ files_total: 1 });
      expect((await diff({ compare: 'unstaged' })).data).toMatchObject({ files: [{ path: 'a.txt' }] });
      own('-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '--quiet', '--all', '--message=second');
      expect((await diff({ from: 'HEAD~1', to: 'HEAD' })).data).toMatchObject({ files_total: 2 });
      expect(await errorType(diff({ from: 'nowhere' }))).toBe('tool_failed');
      const empty = await makeWorkspace(fixture);
      expect(await errorType(callTool(fixture.driver, 'git.status', empty, {}))).toBe('file_not_found');
    });

    it('RS-3: a diff over the budget is cut, stated, and whole in an artifact', async () => {
      await putFile(workspace, 'a.txt', Array.from({ length: 20_000 }, (__, index) => `line ${index}`).join('\n'));
      const artifacts = new ArtifactMemory();
      const outcome = await diff({}, { artifacts });
      const { diff: shown } = outcome.data as { diff: string };
      expect(Buffer.byteLength(shown)).toBeLessThan(40_000);
      expect(outcome.truncation?.[0]).toMatchObject({ stream: 'diff', kept: Buffer.byteLength(shown) });
      expect(artifacts.named('diff')?.size).toBe(outcome.truncation?.[0]?.total);
      expect(outcome.artifacts).toEqual([artifacts.named('diff')?.id]);
      artifacts.away = true;
      expect((await diff({}, { artifacts })).data).toMatchObject({ artifact_missing: expect.any(String) });
    });
  }

  it('CL-1: a hostile repository runs nothing, whatever it names', async () => {
    const canary = join(workspace.root, 'CANARY');
    const script = join(workspace.root, 'evil.sh');
    // It ends whoever starts it, so that the sandbox cannot hide that it ran.
    writeFileSync(script, `#!/bin/sh\necho ran >> ${canary}\nkill -9 $PPID\n`);
    chmodSync(script, 0o755);
    const inside = '/workspace/evil.sh';
    const gitDir = join(workspace.root, '.git');
    const settings = [
      ['core.fsmonitor', inside],
      ['core.hooksPath', '/workspace/hooks'],
      ['core.pager', inside],
      ['core.sshCommand', inside],
      ['core.editor', inside],
      ['core.gitProxy', inside],
      ['diff.external', inside],
      ['diff.evil.command', inside],
      ['diff.evil.textconv', inside],
      ['filter.evil.clean', inside],
      ['filter.evil.smudge', inside],
      ['filter.evil.process', inside],
      ['filter.evil.required', 'true'],
      ['merge.evil.driver', inside],
      ['alias.status', `!${inside}`],
      ['alias.diff', `!${inside}`],
      ['pager.diff', inside],
      ['pager.status', inside],
      ['credential.helper', `!${inside}`],
      ['gpg.program', inside],
      ['interactive.diffFilter', inside],
      ['include.path', '/workspace/more.gitconfig'],
      ['extensions.worktreeConfig', 'true'],
      ['extensions.partialClone', 'origin'],
      ['remote.origin.promisor', 'true'],
      ['remote.origin.url', `ext::${inside}`],
      ['protocol.ext.allow', 'always'],
      ['submodule.recurse', 'true'],
      ['status.submoduleSummary', 'true'],
      ['core.worktree', '/'],
    ];
    for (const [name = '', value = ''] of settings) {
      execFileSync('git', ['config', '-f', join(gitDir, 'config'), name, value], { env: { PATH: '/usr/bin:/bin' } });
    }
    writeFileSync(join(gitDir, 'config.worktree'), `[core]\n\tfsmonitor = ${inside}\n`);
    writeFileSync(
      join(workspace.root, 'more.gitconfig'),
      `[core]\n\tfsmonitor = ${inside}\n[diff]\n\texternal = ${inside}\n`,
    );
    for (const directory of [join(gitDir, 'hooks'), join(workspace.root, 'hooks')]) {
      mkdirSync(directory, { recursive: true });
      for (const hook of [
        'post-index-change',
        'fsmonitor-watchman',
        'pre-commit',
        'post-checkout',
        'reference-transaction',
      ]) {
        symlinkSync('../evil.sh', join(directory, hook));
      }
    }
    mkdirSync(join(gitDir, 'info'), { recursive: true });
    writeFileSync(join(gitDir, 'info/attributes'), '* filter=evil diff=evil merge=evil\n');
    await putFile(workspace, '.gitattributes', '* filter=evil diff=evil merge=evil text\n');
    // A nested repository and a submodule with settings of their own.
    for (const nested of ['sub', 'vendor']) {
      mkdirSync(join(workspace.root, nested));
      execFileSync('git', ['init', '--quiet', join(workspace.root, nested)], {
        env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
      });
      execFileSync('git', ['config', '-f', join(workspace.root, nested, '.git/config'), 'core.fsmonitor', inside], {
        env: { PATH: '/usr/bin:/bin' },
      });
    }
    writeFileSync(
      join(workspace.root, '.gitmodules'),
      '[submodule "sub"]\n\tpath = sub\n\turl = ext::/workspace/evil.sh\n\tupdate = !/workspace/evil.sh\n',
    );
    appendFileSync(join(workspace.root, 'a.txt'), 'changed\n');
    if (isRoot) execFileSync('chown', ['-R', `${workspace.owner.uid}:${workspace.owner.gid}`, workspace.root]);

    const seen = await status({ untracked: 'all' });
    expect(seen.entries.map(({ path }) => path)).toContain('a.txt');
    for (const args of [{}, { compare: 'staged' }, { compare: 'unstaged' }, { from: 'HEAD' }]) {
      expect((await diff(args)).status).toBe('ok');
    }
    expect((await diff()).data).toMatchObject({ diff: expect.stringContaining('+changed') });
    expect(existsSync(canary)).toBe(false);
    // The trap works: git itself falls into it.
    rmSync(join(gitDir, 'config.worktree'));
    for (const change of [
      ['core.fsmonitor', script],
      ['core.worktree', workspace.root],
    ]) {
      execFileSync('git', ['config', '-f', join(gitDir, 'config'), ...change], { env: { PATH: '/usr/bin:/bin' } });
    }
    try {
      execFileSync('git', ['-C', workspace.root, '-c', 'safe.directory=*', 'status'], {
        env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
        stdio: 'ignore',
        timeout: 5_000,
      });
    } catch {
      // It was ended by what the repository names.
    }
    expect(existsSync(canary)).toBe(true);
  });

  it('CL-6: a repository that leads out of the workspace shows nothing of the outside', async () => {
    const other = await makeRepository(join(fixture.root, 'other'), { 'secret.txt': 'CANARY-OTHER' });
    rmSync(join(workspace.root, '.git'), { recursive: true });
    symlinkSync(join(other, '.git'), join(workspace.root, '.git'));
    expect(await errorType(status())).toBe('file_not_found');
    rmSync(join(workspace.root, '.git'));
    writeFileSync(join(workspace.root, '.git'), `gitdir: ${join(other, '.git')}\n`);
    expect(await errorType(status())).toBe('file_not_found');
    rmSync(join(workspace.root, '.git'));
    mkdirSync(join(workspace.root, '.git'));
    for (const part of ['objects', 'refs', 'index'])
      symlinkSync(join(other, '.git', part), join(workspace.root, '.git', part));
    writeFileSync(join(workspace.root, '.git/HEAD'), 'ref: refs/heads/main\n');
    const outcome = await diff().catch((thrown: { type: string }) => thrown);
    expect(JSON.stringify(outcome)).not.toContain('CANARY-OTHER');
    expect(outcome).toMatchObject({ type: 'tool_failed' });
  });
});
