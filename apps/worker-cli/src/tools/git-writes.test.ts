import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  callTool,
  errorType,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
  probeTool,
} from '../testing/driver-fixture.ts';
import { git, makeRepository } from '../testing/git-repository.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

let fixture: Fixture;
let count = 0;

beforeAll(async () => {
  fixture = await makeFixture({ remotes: true });
  mkdirSync(join(fixture.base, 'remotes'), { mode: 0o755 });
});
afterAll(() => fixture.remove());

/** A clone of a fresh repository: the tools write to what belongs to the user of the workspace. */
const makeClone = async (files: Record<string, string> = { 'a.txt': 'one\n' }): Promise<WorkspaceRecord> => {
  count += 1;
  const path = await makeRepository(join(fixture.root, `source-${count}`), files);
  return makeWorkspace(fixture, { type: 'clone', path });
};

const put = async ({ root, owner }: WorkspaceRecord, path: string, text: string): Promise<void> => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
  if (isRoot) await chown(join(root, path), owner.uid, owner.gid);
};
const look = ({ root }: WorkspaceRecord, ...args: string[]): string => git(root, '-c', 'safe.directory=*', ...args);
const data = (outcome: { data?: unknown }): Record<string, Json> => outcome.data as Record<string, Json>;

const makeRemote = async (): Promise<string> => {
  count += 1;
  const path = join(fixture.base, 'remotes', `r${count}.git`);
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', path]);
  if (isRoot) execFileSync('chown', ['-R', '50123:50123', path]);
  return path;
};
const atRemote = (path: string, ...args: string[]): string => git(path, '-c', 'safe.directory=*', ...args);

const commitOf = async (workspace: WorkspaceRecord, message = 'change'): Promise<string> =>
  String(data(await callTool(fixture.driver, 'git.commit', workspace, { message }))['commit']);

describe('CL-2: git.branch', () => {
  it('makes a branch where the workspace is, and switches to it; files stay', async () => {
    const workspace = await makeClone();
    await put(workspace, 'a.txt', 'two\n');
    const made = await callTool(fixture.driver, 'git.branch', workspace, { name: 'fix/one' });
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
    await callTool(fixture.driver, 'git.branch', workspace, { name: 'kept', switch: false });
    expect(look(workspace, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(await errorType(callTool(fixture.driver, 'git.branch', workspace, { name: 'kept' }))).toBe('stale_version');
  });

  it.each(['../x', 'a..b', 'x.lock', '.x', 'a//b', 'a/', 'HEAD', '-d', 'a/.b', 'x.'])(
    'refuses the name %j',
    async (name) => {
      const workspace = await makeClone();
      expect(await errorType(callTool(fixture.driver, 'git.branch', workspace, { name }))).toBe('invalid_arguments');
    },
  );

  it('RE-2: its probe tells by the ref', async () => {
    const workspace = await makeClone();
    const commit = look(workspace, 'rev-parse', 'HEAD');
    const intent = { ref: 'refs/heads/probed', commit, from: 'refs/heads/main', switch: false };
    const probe = () => probeTool(fixture.driver, 'git.branch', workspace, { name: 'probed', switch: false }, intent);
    expect(await probe()).toEqual({ answer: 'absent', fence: true });
    await callTool(fixture.driver, 'git.branch', workspace, { name: 'probed', switch: false });
    expect(await probe()).toMatchObject({ answer: 'found', receipt: { sideEffect: 'confirmed' } });
    expect(
      await probeTool(fixture.driver, 'git.branch', workspace, { name: 'x' }, { ...intent, commit: '0'.repeat(40) }),
    ).toMatchObject({
      answer: 'not_visible',
    });
  });
});

describe('CL-2: git.commit', () => {
  it('commits what changed, new and deleted files too, in the name of the user and by the agent', async () => {
    const workspace = await makeClone({ 'a.txt': 'one\n', 'gone.txt': 'x\n', '.gitignore': 'ignored\n' });
    const parent = look(workspace, 'rev-parse', 'HEAD');
    await put(workspace, 'a.txt', 'one\ntwo\n');
    await put(workspace, 'dir/new.txt', 'new\n');
    await put(workspace, 'ignored', 'x');
    rmSync(join(workspace.root, 'gone.txt'));
    const made = await callTool(fixture.driver, 'git.commit', workspace, { message: 'Subject\n\nBody of it.' });
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
    expect(data(await callTool(fixture.driver, 'git.commit', workspace, args))['changed']).toBe(1);
    expect(await errorType(callTool(fixture.driver, 'git.commit', workspace, { ...args, paths: ['b.txt'] }))).toBe(
      'stale_version',
    );
    await callTool(fixture.driver, 'git.commit', workspace, { message: 'rest' });
    expect(await errorType(callTool(fixture.driver, 'git.commit', workspace, { message: 'none' }))).toBe('tool_failed');
    expect(look(workspace, 'rev-list', '--count', 'HEAD')).toBe('3');
  });

  it('is the first commit of a repository that has none', async () => {
    const workspace = await makeClone();
    look(workspace, 'update-ref', '-d', 'HEAD');
    const made = await callTool(fixture.driver, 'git.commit', workspace, { message: 'first', expected_head: 'none' });
    expect(made).toMatchObject({ status: 'ok', data: { parent: null, changed: 1 } });
  });

  it('RE-2: its probe tells the commit again, and tells another one apart', async () => {
    const workspace = await makeClone();
    await put(workspace, 'a.txt', 'two\n');
    let intent: Json | undefined;
    const before = look(workspace, 'rev-parse', 'HEAD');
    await callTool(
      fixture.driver,
      'git.commit',
      workspace,
      { message: 'Subject\n' },
      {
        beginEffect: async (given) => {
          intent = given;
        },
      },
    );
    const probe = () => probeTool(fixture.driver, 'git.commit', workspace, { message: 'Subject\n' }, intent);
    expect(await probe()).toMatchObject({ answer: 'found', receipt: { data: { parent: before, changed: 1 } } });
    look(workspace, 'update-ref', 'refs/heads/main', before);
    expect(await probe()).toEqual({ answer: 'absent', fence: true });
    await put(workspace, 'a.txt', 'three\n');
    await callTool(fixture.driver, 'git.commit', workspace, { message: 'other' });
    expect(await probe()).toMatchObject({ answer: 'not_visible' });
  });
});

/** Everything in a repository that could start a program, each of which would leave `mark` behind. */
const booby = (repository: string, mark: string): void => {
  const bait = join(repository, 'bait.sh');
  writeFileSync(bait, `#!/bin/sh\ntouch ${mark}\ncat\n`, { mode: 0o755 });
  chmodSync(bait, 0o755);
  const hooks =
    'pre-commit prepare-commit-msg commit-msg post-commit reference-transaction post-index-change pre-receive update post-receive post-update proc-receive pre-auto-gc post-rewrite pre-push';
  mkdirSync(join(repository, 'hooks'), { recursive: true });
  for (const hook of hooks.split(' ')) {
    writeFileSync(join(repository, 'hooks', hook), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    chmodSync(join(repository, 'hooks', hook), 0o755);
  }
  appendFileSync(
    join(repository, 'config'),
    `[core]\n\tfsmonitor = ${bait}\n\teditor = ${bait}\n\tpager = ${bait}\n\thooksPath = ${repository}/hooks\n\tsshCommand = ${bait}\n` +
      `[filter "bait"]\n\tclean = ${bait}\n\tsmudge = ${bait}\n\tprocess = ${bait}\n\trequired = true\n` +
      `[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = ${bait}\n[credential]\n\thelper = ${bait}\n[diff]\n\texternal = ${bait}\n` +
      `[include]\n\tpath = ${repository}/more\n[remote "origin"]\n\treceivepack = ${bait}\n\tuploadpack = ${bait}\n`,
  );
  writeFileSync(join(repository, 'more'), `[core]\n\tfsmonitor = ${bait}\n`);
  mkdirSync(join(repository, 'info'), { recursive: true });
  writeFileSync(join(repository, 'info', 'attributes'), '* filter=bait diff=bait\n');
};

describe('CL-2: a hostile repository', () => {
  it('starts nothing when it is committed to, branched and pushed from', async () => {
    const workspace = await makeClone();
    const remote = await makeRemote();
    const mark = join(workspace.root, 'marked');
    booby(join(workspace.root, '.git'), mark);
    booby(remote, mark);
    if (isRoot) {
      execFileSync('chown', ['-R', `${workspace.owner.uid}:${workspace.owner.gid}`, workspace.root]);
      execFileSync('chown', ['-R', '50123:50123', remote]);
    }
    const config = readFileSync(join(workspace.root, '.git/config'), 'utf8');
    await put(workspace, 'a.txt', 'two\n');
    await callTool(fixture.driver, 'git.branch', workspace, { name: 'fix' });
    const commit = await commitOf(workspace);
    const pushed = await callTool(fixture.driver, 'git.push', workspace, { remote, branch: 'fix', commit });
    expect(pushed).toMatchObject({ status: 'ok' });
    expect(existsSync(mark)).toBe(false);
    expect(existsSync(join(remote, 'marked'))).toBe(false);
    expect(readFileSync(join(workspace.root, '.git/config'), 'utf8')).toBe(config);
  });

  it.each(['config', 'HEAD', 'objects', 'refs', ''])('whose .git/%s is a link is refused', async (part) => {
    const workspace = await makeClone();
    const at = join(workspace.root, '.git', part);
    execFileSync('mv', [at, join(workspace.root, 'elsewhere')]);
    symlinkSync(join(workspace.root, 'elsewhere'), at);
    await put(workspace, 'a.txt', 'two\n');
    expect(await errorType(callTool(fixture.driver, 'git.commit', workspace, { message: 'x' }))).toBe('file_not_found');
  });

  it('that says it is a part of another one is written alone', async () => {
    const workspace = await makeClone();
    await put(workspace, 'common/config', '[core]\n\thooksPath = /workspace/common/hooks\n');
    await put(workspace, '.git/commondir', '../common\n');
    await put(workspace, 'a.txt', 'two\n');
    const outcome = await callTool(fixture.driver, 'git.commit', workspace, { message: 'x', paths: ['a.txt'] }).catch(
      () => undefined,
    );
    rmSync(join(workspace.root, '.git/commondir'));
    if (outcome?.status === 'ok') expect(look(workspace, 'rev-list', '--count', 'HEAD')).toBe('2');
    expect(existsSync(join(workspace.root, 'common/refs'))).toBe(false);
  });

  it('with files behind a filter is committed only by the paths that are named', async () => {
    const workspace = await makeClone({ '.gitattributes': '*.bin filter=lfs\n', 'a.txt': 'one\n' });
    await put(workspace, 'a.txt', 'two\n');
    expect(await errorType(callTool(fixture.driver, 'git.commit', workspace, { message: 'x' }))).toBe('tool_failed');
    expect(await callTool(fixture.driver, 'git.commit', workspace, { message: 'x', paths: ['a.txt'] })).toMatchObject({
      status: 'ok',
    });
  });
});

describe('CL-2: git.push', () => {
  it('sends a commit to a branch of a bare repository, and the same again is the same', async () => {
    const workspace = await makeClone();
    const remote = await makeRemote();
    await put(workspace, 'a.txt', 'two\n');
    const commit = await commitOf(workspace);
    const args = { remote, branch: 'main', commit, expected: 'absent' };
    expect(await callTool(fixture.driver, 'git.push', workspace, args)).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      data: { branch: 'main', commit, before: null },
      evidence: [{ kind: 'remote-ref', detail: commit }],
    });
    expect(atRemote(remote, 'rev-parse', 'main')).toBe(commit);
    expect(atRemote(remote, 'log', '-1', '--format=%s', 'main')).toBe('change');
    const { expected: _none, ...again } = args;
    expect(await callTool(fixture.driver, 'git.push', workspace, again)).toMatchObject({ status: 'ok' });
    await put(workspace, 'a.txt', 'three\n');
    const next = await commitOf(workspace, 'next');
    expect(
      await callTool(fixture.driver, 'git.push', workspace, { ...args, commit: next, expected: commit }),
    ).toMatchObject({ status: 'ok' });
    expect(atRemote(remote, 'rev-list', '--count', 'main')).toBe('3');
  });

  it('never overwrites: what is no descendant is refused, and nothing is moved', async () => {
    const [workspace, other] = [await makeClone(), await makeClone({ 'other.txt': 'x\n' })];
    const remote = await makeRemote();
    await put(other, 'other.txt', 'y\n');
    const theirs = await commitOf(other);
    await callTool(fixture.driver, 'git.push', other, { remote, branch: 'main', commit: theirs });
    await put(workspace, 'a.txt', 'two\n');
    const commit = await commitOf(workspace);
    const refused = await callTool(fixture.driver, 'git.push', workspace, { remote, branch: 'main', commit });
    expect(refused).toMatchObject({ status: 'error', sideEffect: 'none' });
    expect(atRemote(remote, 'rev-parse', 'main')).toBe(theirs);
    const args = { remote, branch: 'main', commit, expected: 'absent' };
    expect(await errorType(callTool(fixture.driver, 'git.push', workspace, args))).toBe('stale_version');
    const stale = { remote, branch: 'main', commit: theirs };
    expect(await errorType(callTool(fixture.driver, 'git.push', workspace, stale))).toBe('stale_version');
  });

  it('RE-2: its probe tells by the ref of the remote, also when others have pushed on top', async () => {
    const workspace = await makeClone();
    const remote = await makeRemote();
    await put(workspace, 'a.txt', 'two\n');
    const commit = await commitOf(workspace);
    const args = { remote, branch: 'main', commit };
    const probe = () => probeTool(fixture.driver, 'git.push', workspace, args, undefined);
    expect(await probe()).toEqual({ answer: 'absent', fence: false });
    await callTool(fixture.driver, 'git.push', workspace, args);
    expect(await probe()).toMatchObject({ answer: 'found', receipt: { evidence: [{ detail: commit }] } });
    await put(workspace, 'a.txt', 'three\n');
    const next = await commitOf(workspace, 'next');
    await callTool(fixture.driver, 'git.push', workspace, { ...args, commit: next });
    expect(await probe()).toMatchObject({ answer: 'found' });
  });

  it('reaches no repository outside of the directories that are allowed', async () => {
    const workspace = await makeClone();
    const outside = join(fixture.root, `bare-${count}.git`);
    execFileSync('git', ['init', '--quiet', '--bare', outside]);
    const link = join(fixture.base, 'remotes', 'link.git');
    symlinkSync(outside, link);
    const empty = join(fixture.base, 'remotes', 'empty');
    mkdirSync(empty, { recursive: true });
    const commit = look(workspace, 'rev-parse', 'HEAD');
    for (const remote of [
      outside,
      link,
      empty,
      workspace.root,
      '/',
      '/etc',
      join(fixture.base, 'remotes', 'none'),
      `${fixture.base}/remotes/../state`,
    ])
      expect(
        await errorType(callTool(fixture.driver, 'git.push', workspace, { remote, branch: 'main', commit })),
        remote,
      ).toBe('denied_by_policy');
  });
});
