import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
  workspace = await makeWorkspace(fixture);
  const files = {
    '.gitignore': 'dist/\n*.log\n!kept.log\n',
    'README.md': '',
    'a.ts': '',
    'debug.log': '',
    'kept.log': '',
    'dist/out.js': '',
    'src/a.ts': '',
    'src/b.test.ts': '',
    'src/deep/c.ts': '',
    'src/deep/trace.log': '',
    '.github/ci.yml': '',
    '.git/config': '',
    'sub/.git/HEAD': '',
    'sub/x.py': '',
    '-rf': '',
    '--help': '',
    'it\'s "quoted".txt': '',
    'new\nline.txt': '',
    '*': '',
  };
  for (const [path, content] of Object.entries(files)) await putFile(workspace, path, content);
  symlinkSync('README.md', join(workspace.root, 'link'));
  writeFileSync(Buffer.concat([Buffer.from(`${workspace.root}/bad-`), Buffer.from([0xff])]), '');
});
afterAll(() => fixture.remove());

const list = (args: Record<string, unknown> = {}, options: CallOptions = {}) =>
  callTool(fixture.driver, 'workspace.list_files', workspace, args, options);
const filesOf = async (args: Record<string, unknown>) => ((await list(args)).data as { files: string[] }).files;

describe('workspace.list_files', () => {
  it('CL-2: lists what is not ignored, hidden files too, in one order; whatever the names are', async () => {
    const outcome = await list();
    const data = outcome.data as { files: string[] };
    expect(data.files).toEqual([
      '*',
      '--help',
      '-rf',
      '.github/ci.yml',
      '.gitignore',
      'README.md',
      'a.ts',
      'bad-\ufffd',
      `it's "quoted".txt`,
      'kept.log',
      'new\nline.txt',
      'src/a.ts',
      'src/b.test.ts',
      'src/deep/c.ts',
      'sub/x.py',
    ]);
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'none',
      trust: 'untrusted',
      origin: `workspace:${workspace.id}`,
    });
    expect(outcome.data).toMatchObject({ files_total: 15, total_is_exact: true, names_not_utf8: 1 });
    expect(outcome.truncation).toBeUndefined();
  });

  it.each([
    [{ glob: '*.ts' }, ['a.ts', 'src/a.ts', 'src/b.test.ts', 'src/deep/c.ts']],
    [{ glob: 'src/*.ts' }, ['src/a.ts', 'src/b.test.ts']],
    [{ glob: 'src/**' }, ['src/a.ts', 'src/b.test.ts', 'src/deep/c.ts']],
    [{ glob: '*.{md,py}' }, ['README.md', 'sub/x.py']],
    [{ path: 'src', glob: '*.test.ts' }, ['src/b.test.ts']],
    [{ path: './src//deep/..', glob: 'src/deep/*' }, ['src/deep/c.ts']],
    [{ glob: '*.log' }, ['kept.log']],
    [{ path: 'dist' }, ['dist/out.js']],
    [{ path: 'src/a.ts' }, ['src/a.ts']],
    [{ path: '-rf' }, ['-rf']],
    [{ glob: '*.rs' }, []],
  ])('%j gives %j', async (args, files) => {
    expect(await filesOf(args)).toEqual(files);
  });

  it.each([
    ['file_not_found', { path: 'nowhere' }],
    ['path_outside_workspace', { path: '..' }],
    ['invalid_arguments', { glob: '{a' }],
  ])('%s for %j', async (type, args) => {
    expect(await errorType(list(args))).toBe(type);
  });

  it('RS-3: ten thousand files: as many as fit, the total, and where the rest is', async () => {
    const many = await makeWorkspace(fixture);
    for (let directory = 0; directory < 20; directory += 1) {
      mkdirSync(join(many.root, `d${directory}`));
      for (let file = 0; file < 500; file += 1) writeFileSync(join(many.root, `d${directory}`, `file-${file}.txt`), '');
    }
    if (isRoot) spawnSync('chown', ['-R', String(many.owner.uid), many.root]);
    const call = (args: Record<string, unknown>, options: CallOptions = {}) =>
      callTool(fixture.driver, 'workspace.list_files', many, args, options);
    const outcome = await call({ max_entries: 2000 }, { outputBytes: 20_000 });
    const data = outcome.data as { files: string[]; directories: { path: string; files: number }[] };
    expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(20_000);
    expect(data).toMatchObject({ files_total: 10_000, total_is_exact: true });
    expect(data.files.length).toBeGreaterThan(500);
    expect(data.directories).toContainEqual({ path: 'd7', files: 500 });
    expect(outcome.truncation).toEqual([{ stream: 'files', kept: data.files.length, total: 10_000, unit: 'items' }]);
    expect((await call({ max_entries: 3 })).data).toMatchObject({
      files: ['d0/file-0.txt', 'd0/file-1.txt', 'd0/file-10.txt'],
    });
  });

  it('one with the same answer twice is byte for byte the same', async () => {
    expect(JSON.stringify(await list())).toBe(JSON.stringify(await list()));
  });
});
