import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceSource } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import { plainRedactor } from '@toolfabric/worker-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, type Fixture, isRoot, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { commitAll, git, makeRepository } from '../testing/git-repository.ts';
import { type PrepareLimits, prepareWorkspace } from './prepare-workspace.ts';
import type { WorkspaceRecord } from './workspace-record.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture();
  const { confinement } = fixture.driver.commands;
  limits = { timeoutMs: 30_000, signal: new AbortController().signal, redactor: plainRedactor, confinement };
});
afterAll(() => fixture.remove());

let limits: PrepareLimits;
const clone = (path: string): WorkspaceSource => ({ type: 'clone', path });
const owned = (path: string): string => {
  mkdirSync(path, { recursive: true });
  if (isRoot) chownSync(path, 4_321, 4_321);
  return path;
};

describe('a clone', () => {
  it('has the history, its origin, no hook, no hard link, and belongs to its own user', async () => {
    const source = await makeRepository(join(fixture.root, 'source'), { 'a.txt': 'one\n', 'src/b.txt': 'two\n' });
    const record = await makeWorkspace(fixture, clone(source));
    expect(readFileSync(join(record.root, 'src/b.txt'), 'utf8')).toBe('two\n');
    const config = readFileSync(join(record.root, '.git/config'), 'utf8');
    expect(config).toContain(`url = ${source}`);
    expect(existsSync(join(record.root, '.git/hooks'))).toBe(false);
    const head = git(source, 'rev-parse', 'HEAD');
    expect(readFileSync(join(record.root, '.git/refs/heads/main'), 'utf8').trim()).toBe(head);
    for (const name of readdirSync(record.root, { recursive: true })) {
      const stats = lstatSync(join(record.root, String(name)));
      if (stats.isFile()) expect(stats.nlink).toBe(1);
      if (isRoot) expect(stats.uid).toBe(record.child?.uid);
    }
    expect(git(source, 'status', '--porcelain')).toBe('');
  });

  it.each([true, false])(
    'works where its user cannot pass the directories above it (state reachable: %s)',
    async (reachable) => {
      const closed = await makeFixture({ reachable });
      const private_ = join(closed.root, 'private');
      mkdirSync(private_, { mode: 0o700 });
      const source = await makeRepository(join(private_, 'source'), { 'a.txt': 'one\n' });
      const record = await makeWorkspace(closed, clone(source));
      expect(readFileSync(join(record.root, 'a.txt'), 'utf8')).toBe('one\n');
      const listed = await callTool(closed.driver, 'workspace.list_files', record, {});
      expect(listed.data).toMatchObject({ files: ['a.txt'] });
      await closed.remove();
    },
  );

  it('a cancelled clone leaves nothing that counts as a workspace', async () => {
    const source = await makeRepository(join(fixture.root, 'cancelled'), { 'a.txt': 'one\n' });
    const ref = { id: `t-${randomId()}`, source: clone(source) };
    const abort = new AbortController();
    abort.abort();
    expect(
      await errorType(prepareWorkspace(fixture.settings, ref, { ...limits, timeoutMs: 5_000, signal: abort.signal })),
    ).toBe('cancelled');
    expect(existsSync(join(fixture.settings.layout.workspaces, ref.id))).toBe(false);
    expect((await prepareWorkspace(fixture.settings, ref, limits)).id).toBe(ref.id);
  });

  it('without bubblewrap it is sandbox_unavailable, and nothing is cloned', async () => {
    const source = await makeRepository(join(fixture.root, 'no-bwrap'), { 'a.txt': 'one\n' });
    const programs = { ...fixture.settings.programs, bwrap: undefined };
    const without = { ...limits, confinement: { ...limits.confinement, programs } };
    const ref = { id: `t-${randomId()}`, source: clone(source) };
    expect(await errorType(prepareWorkspace(fixture.settings, ref, without))).toBe('sandbox_unavailable');
  });

  it.each([
    ['a directory without a repository', () => owned(join(fixture.root, 'plain'))],
    ['outside of every root', () => fixture.base],
  ])('%s is refused', async (_, path) => {
    expect(await errorType(makeWorkspace(fixture, clone(path())))).toBe('workspace_refused');
  });
});

describe('CL-1: a clone of a hostile repository', () => {
  const PAYLOAD = 'touch /clone/PWNED /source/PWNED /tmp/PWNED; touch "$PWD/PWNED"';
  let hostile: string;
  let record: WorkspaceRecord;

  beforeAll(async () => {
    hostile = await makeRepository(join(fixture.root, 'hostile'), {
      'a.txt': 'one\n',
      '.gitattributes': '* filter=evil diff=evil merge=evil\n',
      '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch /clone/PWNED"\n',
    });
    const script = join(hostile, '.git/payload.sh');
    writeFileSync(script, `#!/bin/sh\n${PAYLOAD}\ncat\n`, { mode: 0o755 });
    chmodSync(script, 0o755);
    const settings: Record<string, string> = {
      'core.fsmonitor': script,
      'core.sshCommand': script,
      'core.gitProxy': script,
      'core.pager': script,
      'core.editor': script,
      'core.alternateRefsCommand': script,
      'uploadpack.packObjectsHook': script,
      'filter.evil.smudge': script,
      'filter.evil.clean': script,
      'filter.evil.process': script,
      'filter.evil.required': 'true',
      'diff.evil.textconv': script,
      'merge.evil.driver': script,
      'core.hooksPath': join(hostile, '.git/hooks'),
      'alias.clone': `!${script}`,
      'protocol.ext.allow': 'always',
    };
    mkdirSync(join(hostile, '.git/hooks'), { recursive: true });
    for (const hook of [
      'post-checkout',
      'pre-commit',
      'post-merge',
      'reference-transaction',
      'fsmonitor-watchman',
      'post-index-change',
    ]) {
      writeFileSync(join(hostile, '.git/hooks', hook), `#!/bin/sh\n${PAYLOAD}\n`, { mode: 0o755 });
    }
    for (const [key, value] of Object.entries(settings)) git(hostile, 'config', key, value);
    chmodSync(join(hostile, '.git/config'), 0o644);
    record = await makeWorkspace(fixture, clone(hostile));
  });

  it('the trap works: the same repository runs its payload where nobody guards it', () => {
    // It may fail afterwards: by then the payload has run.
    expect(() => git(hostile, 'status')).toThrow();
    expect(existsSync(join(hostile, 'PWNED'))).toBe(true);
    rmSync(join(hostile, 'PWNED'));
  });

  it('nothing of it ran, neither in the source nor in the clone', () => {
    const names = readdirSync(record.root, { recursive: true }).map(String);
    expect(names.filter((name) => name.includes('PWNED'))).toEqual([]);
    expect(readFileSync(join(record.root, 'a.txt'), 'utf8')).toBe('one\n');
    const config = readFileSync(join(record.root, '.git/config'), 'utf8');
    expect(config).not.toMatch(/payload|evil|fsmonitor|hooksPath/);
  });

  it('objects borrowed from elsewhere, and a .git that leads elsewhere, are refused', async () => {
    const secret = await makeRepository(join(fixture.base, 'secret-repository'), { 'secret.txt': 'CANARY' });
    const borrowing = await makeRepository(join(fixture.root, 'borrowing'), { 'a.txt': 'one\n' });
    writeFileSync(join(borrowing, '.git/objects/info/alternates'), `${join(secret, '.git/objects')}\n`);
    writeFileSync(join(borrowing, '.git/refs/heads/main'), `${git(secret, 'rev-parse', 'HEAD')}\n`);
    const linked = owned(join(fixture.root, 'linked'));
    symlinkSync(join(secret, '.git'), join(linked, '.git'));
    const pointing = owned(join(fixture.root, 'pointing'));
    writeFileSync(join(pointing, '.git'), `gitdir: ${join(secret, '.git')}\n`);
    for (const path of [borrowing, linked, pointing]) {
      expect(await errorType(makeWorkspace(fixture, clone(path)))).toBe('workspace_refused');
    }
  });

  it('a link out of the tree that the history holds is cloned as a link, and followed by nothing', async () => {
    const source = await makeRepository(join(fixture.root, 'links'), { 'a.txt': 'one\n' });
    symlinkSync('/etc/passwd', join(source, 'passwd'));
    commitAll(source);
    const cloned = await makeWorkspace(fixture, clone(source));
    expect(lstatSync(join(cloned.root, 'passwd')).isSymbolicLink()).toBe(true);
    expect(await errorType(callTool(fixture.driver, 'workspace.read_file', cloned, { path: 'passwd' }))).toBe(
      'path_outside_workspace',
    );
    expect(realpathSync(cloned.root)).toBe(cloned.root);
  });
});
