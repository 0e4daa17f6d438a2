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
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, isRoot } from '../testing/driver-fixture.ts';
import { look, put, useGitFixture } from '../testing/git-fixture.ts';

const { commitOf, fixture, makeClone, makeRemote } = useGitFixture({ beforeAll, afterAll });

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
    await callTool(fixture().driver, 'git.branch', workspace, { name: 'fix' });
    const commit = await commitOf(workspace);
    const pushed = await callTool(fixture().driver, 'git.push', workspace, { remote, branch: 'fix', commit });
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
    expect(await errorType(callTool(fixture().driver, 'git.commit', workspace, { message: 'x' }))).toBe(
      'file_not_found',
    );
  });

  it('that says it is a part of another one is written alone', async () => {
    const workspace = await makeClone();
    await put(workspace, 'common/config', '[core]\n\thooksPath = /workspace/common/hooks\n');
    await put(workspace, '.git/commondir', '../common\n');
    await put(workspace, 'a.txt', 'two\n');
    const outcome = await callTool(fixture().driver, 'git.commit', workspace, { message: 'x', paths: ['a.txt'] }).catch(
      () => undefined,
    );
    rmSync(join(workspace.root, '.git/commondir'));
    if (outcome?.status === 'ok') expect(look(workspace, 'rev-list', '--count', 'HEAD')).toBe('2');
    expect(existsSync(join(workspace.root, 'common/refs'))).toBe(false);
  });

  it('with files behind a filter is committed only by the paths that are named', async () => {
    const workspace = await makeClone({ '.gitattributes': '*.bin filter=lfs\n', 'a.txt': 'one\n' });
    await put(workspace, 'a.txt', 'two\n');
    expect(await errorType(callTool(fixture().driver, 'git.commit', workspace, { message: 'x' }))).toBe('tool_failed');
    expect(await callTool(fixture().driver, 'git.commit', workspace, { message: 'x', paths: ['a.txt'] })).toMatchObject(
      {
        status: 'ok',
      },
    );
  });
});
