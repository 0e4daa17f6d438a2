import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CallOptions,
  callTool,
  errorType,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

let fixture: Fixture;
let workspace: WorkspaceRecord;
beforeAll(async () => {
  fixture = await makeFixture();
});
afterAll(() => fixture.remove());
beforeEach(async () => {
  workspace = await makeWorkspace(fixture);
});

const edit = (args: Record<string, unknown>, options: CallOptions = {}) =>
  callTool(fixture.driver, 'workspace.edit_file', workspace, args, options);
const read = (path: string) => readFileSync(join(workspace.root, path), 'utf8');
const temporaries = () =>
  readdirSync(workspace.root, { recursive: true }).filter((name) => String(name).includes('toolfabric-tmp'));

describe('where workspace.edit_file writes', () => {
  it.each([
    ['text_not_found', { path: 'a.txt', old_text: 'three', new_text: 'x' }],
    ['text_ambiguous', { path: 'a.txt', old_text: 'o', new_text: 'x' }],
    ['text_ambiguous', { path: 'a.txt', old_text: '', new_text: 'x' }],
    ['file_not_found', { path: 'b.txt', old_text: 'one', new_text: 'x' }],
    ['not_a_file', { path: 'dir', old_text: 'one', new_text: 'x' }],
    ['not_a_file', { path: '.', old_text: 'one', new_text: 'x' }],
    ['file_not_found', { path: 'a.txt/b', old_text: 'one', new_text: 'x' }],
    ['invalid_arguments', { path: 'a.txt', old_text: 'one', new_text: 'one' }],
    ['invalid_arguments', { path: 'a.txt', old_text: 'one', new_text: 'a\ud800' }],
    ['invalid_arguments', { path: 'a.txt', old_text: 'one', new_text: 'a\0b' }],
    ['invalid_arguments', { path: 'new.txt', old_text: 'one', new_text: 'x', expected_sha256: 'absent' }],
    ['binary_file', { path: 'bin', old_text: 'one', new_text: 'x' }],
    ['binary_file', { path: 'latin1', old_text: 'one', new_text: 'x' }],
  ])('%s for %j, and nothing changes', async (type, args) => {
    await putFile(workspace, 'a.txt', 'one two');
    await putFile(workspace, 'dir/x', '');
    await putFile(workspace, 'bin', 'one\0');
    await putFile(workspace, 'latin1', Buffer.from([0x6f, 0x6e, 0x65, 0xe9]));
    const contents: Record<string, string> = { bin: 'one\0', 'a.txt': 'one two' };
    const bytes = args.path === 'latin1' ? Buffer.from([0x6f, 0x6e, 0x65, 0xe9]) : (contents[args.path] ?? 'x');
    expect(await errorType(edit({ expected_sha256: sha256Hex(bytes), ...args }))).toBe(type);
    expect(read('a.txt')).toBe('one two');
    expect(temporaries()).toEqual([]);
  });

  it.each([
    '.git/config',
    '.git/hooks/pre-commit',
    'sub/.git/config',
    '.GIT/config',
    '.Git/x',
    'git~1/config',
    '.gi\u200ct/config',
    '.git./config',
    '.git',
    '.ｇit/config',
    'to-git/config',
    'to-git/hooks/post-checkout',
  ])('RT-5: %j is no place to write: it would be code of the repository', async (path) => {
    await putFile(workspace, '.git/config', '[core]\n');
    symlinkSync('.git', join(workspace.root, 'to-git'));
    const make = edit({ path, old_text: '', new_text: '#!/bin/sh\n', expected_sha256: 'absent' });
    expect(await errorType(make)).toBe('path_outside_workspace');
    const change = edit({ path, old_text: '[core]', new_text: '[alias]', expected_sha256: sha256Hex('[core]\n') });
    expect(await errorType(change)).toBe('path_outside_workspace');
    expect(read('.git/config')).toBe('[core]\n');
  });

  it('a name that only begins like .git is an ordinary file', async () => {
    await edit({ path: '.gitignore', old_text: '', new_text: 'dist\n', expected_sha256: 'absent' });
    await edit({ path: '.github/x.yml', old_text: '', new_text: 'a: 1\n', expected_sha256: 'absent' });
    expect(read('.gitignore')).toBe('dist\n');
  });

  it.each(['a\nb', 'a\u202eb.ts', 'zero\u200bwidth', 'src\\a.ts', '.toolfabric-tmp-x'])(
    'a new file is not called %j',
    async (path) => {
      const work = edit({ path, old_text: '', new_text: 'x', expected_sha256: 'absent' });
      expect(await errorType(work)).toBe('invalid_arguments');
    },
  );

  it.each(['-rf', "it's", 'sp ace', '"quoted"', 'ünï', '*'])(
    'a file called %j is edited like any other',
    async (path) => {
      await putFile(workspace, path, 'one\n');
      const outcome = await edit({ path, old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one\n') });
      expect(outcome.status).toBe('ok');
      expect(read(path)).toBe('two\n');
    },
  );

  it('keeps mode and owner, and writes through a link to its target', async () => {
    const file = await putFile(workspace, 'bin/run.sh', 'one\n');
    chmodSync(file, 0o750);
    const { uid, gid } = statSync(file);
    symlinkSync('bin/run.sh', join(workspace.root, 'link'));
    const outcome = await edit({ path: 'link', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one\n') });
    expect(outcome.data).toMatchObject({ path: 'bin/run.sh' });
    const stats = statSync(file);
    expect([stats.mode & 0o7777, stats.uid, stats.gid]).toEqual([0o750, uid, gid]);
    expect(existsSync(join(workspace.root, 'link'))).toBe(true);
  });

  it('a file that its user may not write is left alone', async () => {
    const file = await putFile(workspace, 'ro.txt', 'one\n');
    chmodSync(file, 0o444);
    const args = { path: 'ro.txt', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one\n') };
    expect(await errorType(edit(args))).toBe('permission_denied');
    const directory = join(workspace.root, 'closed');
    await putFile(workspace, 'closed/a.txt', 'one\n');
    chmodSync(directory, 0o555);
    const outcome = await edit({ ...args, path: 'closed/a.txt' });
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'permission_denied' } });
    chmodSync(directory, 0o755);
  });

  if (isRoot) {
    it('CL-6: new files belong to the user of the workspace, and files of root are not touched', async () => {
      await edit({ path: 'deep/er/new.txt', old_text: '', new_text: 'x', expected_sha256: 'absent' });
      for (const path of ['deep', 'deep/er', 'deep/er/new.txt']) {
        expect(statSync(join(workspace.root, path)).uid).toBe(workspace.owner.uid);
      }
      const file = join(workspace.root, 'of-root.txt');
      writeFileSync(file, 'secret\n', { mode: 0o600 });
      chownSync(file, 0, 0);
      const args = { path: 'of-root.txt', old_text: 'secret', new_text: 'x', expected_sha256: sha256Hex('secret\n') };
      expect(await errorType(edit(args))).toBe('permission_denied');
      const reading = callTool(fixture.driver, 'workspace.read_file', workspace, { path: 'of-root.txt' });
      expect(await errorType(reading)).toBe('permission_denied');
    });
  }
});
