import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import { checkByRealPath } from './check-by-real-path.ts';
import { type OpenRoot, openDirectory } from './open-root.ts';
import { type Place, pathOf } from './place.ts';
import { walkToPlace } from './walk.ts';
import type { WorkspaceRecord } from './workspace-record.ts';

const CANARY = 'CANARY-OUTSIDE';

let base: string;
let root: OpenRoot;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'contain-'));
  const inside = join(base, 'ws');
  mkdirSync(join(inside, 'dir/sub'), { recursive: true });
  mkdirSync(join(base, 'ws-sibling'));
  writeFileSync(join(base, 'secret'), CANARY);
  writeFileSync(join(base, 'ws-sibling/secret'), CANARY);
  writeFileSync(join(inside, 'file'), 'inside');
  writeFileSync(join(inside, 'dir/file'), 'inside');
  writeFileSync(join(inside, 'back\\slash'), 'inside');
  symlinkSync('../../secret', join(inside, 'dir/up'));
  symlinkSync(join(base, 'secret'), join(inside, 'absolute'));
  symlinkSync('/', join(inside, 'host'));
  symlinkSync('/proc/self/root', join(inside, 'proc'));
  symlinkSync('../ws-sibling', join(inside, 'sibling'));
  symlinkSync('dir', join(inside, 'to-dir'));
  symlinkSync('../file', join(inside, 'dir/to-file'));
  symlinkSync('loop-b', join(inside, 'loop-a'));
  symlinkSync('loop-a', join(inside, 'loop-b'));
  symlinkSync('to-dir/../../secret', join(inside, 'winding'));
  symlinkSync('nowhere/at/all', join(inside, 'dangling'));
  execFileSync('mkfifo', [join(inside, 'pipe')]);
  const handle = await openDirectory(inside);
  root = { handle, path: inside, owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 } };
});

afterAll(async () => {
  await root.handle.close();
  rmSync(base, { recursive: true });
});

const content = async (place: Place): Promise<string> => {
  await using handle = await (place.entry ?? expect.fail('nothing stands there')).open();
  return await handle.readFile('utf8');
};

const OUTSIDE = [
  '..',
  '../secret',
  'dir/../../secret',
  'dir/sub/../../../secret',
  './/./../secret',
  '/etc/passwd',
  '//etc/passwd',
  '/proc/self/root/etc/passwd',
  'dir/up',
  'absolute',
  'host/etc/passwd',
  'proc/etc/passwd',
  'sibling/secret',
  'winding',
  'to-dir/../../secret',
  '../ws-sibling/secret',
  '../ws/../secret',
];
/** Names that only look like ways out: on this file system each of them is one ordinary name that does not exist. */
const NOT_THERE = [
  '．．/secret',
  '․․/secret',
  '..／secret',
  '..\\secret',
  'dir\\..\\..\\secret',
  '%2e%2e/secret',
  '~/.ssh/id_rsa',
  '..\u200b/secret',
  '\u202e../secret',
  'FILE',
  'loop-a',
  'file/x',
  'pipe/x',
  'dir/none',
];

describe.each([
  ['walk', walkToPlace],
  ['real path', checkByRealPath],
] as const)('RT-5: containment by %s', (name, find) => {
  it.each(OUTSIDE)('%j leads out and is refused', async (path) => {
    expect(await errorType(find(root, path))).toBe('path_outside_workspace');
  });

  it.each(NOT_THERE)('%j is no way out', async (path) => {
    const place = await find(root, path).catch((thrown: { type?: string; code?: string }) => thrown);
    if ('parts' in place) {
      expect(place.entry).toBeUndefined();
      await place.close();
    } else expect(['file_not_found', undefined]).toContain(place.type);
  });

  it.each(['a\0b', '\ud800', `${'x'.repeat(256)}`, 'a/'.repeat(300), `${'abc/'.repeat(2000)}`])(
    'RT-4: a path that no file can have is refused with its field (%#)',
    async (path) => {
      await expect(find(root, path)).rejects.toMatchObject({
        type: 'invalid_arguments',
        details: { fields: [{ field: '/path' }] },
      });
    },
  );

  it.each([
    ['file', 'file'],
    ['./dir//file', 'dir/file'],
    ['dir/', 'dir'],
    ['dir/../file', 'file'],
    ['to-dir/file', 'dir/file'],
    ['dir/to-file', 'file'],
    ['to-dir/../file', 'file'],
    ['back\\slash', 'back\\slash'],
    ['.', ''],
    ['', ''],
  ])('%j leads to %j', async (path, resolved) => {
    const place = await find(root, path);
    expect(pathOf(place)).toBe(resolved);
    expect(place.entry).toBeDefined();
    if (place.entry?.kind === 'file') expect(await content(place)).toBe('inside');
    await place.close();
  });

  it('a missing file is a place to make one, directories that are missing included', async () => {
    const place = await find(root, 'to-dir/new/deep/file');
    expect(place).toMatchObject({ parts: ['dir', 'new', 'deep', 'file'], name: 'file', missing: ['new', 'deep'] });
    await place.close();
  });

  it('a pipe is seen and never waited for', async () => {
    const place = await find(root, 'pipe');
    expect(place.entry?.kind).toBe('other');
    await place.close();
    expect(name).toBeTruthy();
  });
});

describe('RT-5: a directory that is swapped for a link meanwhile', () => {
  /** Swaps `a/target` between a directory and a link to the outside, as fast as it can. */
  const swapper = (inside: string): Worker =>
    new Worker(
      `const { renameSync, symlinkSync, mkdirSync } = require('node:fs');
       const { workerData: d } = require('node:worker_threads');
       symlinkSync('..', d + '/link');
       for (;;) {
         renameSync(d + '/target', d + '/aside'); renameSync(d + '/link', d + '/target');
         renameSync(d + '/target', d + '/link'); renameSync(d + '/aside', d + '/target');
       }`,
      { eval: true, workerData: inside },
    );

  it('nothing outside is ever read or made, in thousands of tries', async () => {
    const box = await mkdtemp(join(tmpdir(), 'swap-'));
    const inside = join(box, 'ws');
    mkdirSync(join(inside, 'target'), { recursive: true });
    writeFileSync(join(inside, 'target/file'), 'inside');
    writeFileSync(join(box, 'file'), CANARY);
    writeFileSync(join(inside, 'file'), 'inside too');
    // The link points to `..` of the root: target/file is then the file outside.
    await using handle = await openDirectory(inside);
    const swapRoot: OpenRoot = { handle, path: inside, owner: root.owner };
    const worker = swapper(inside);
    const seen = { inside: 0, refused: 0, absent: 0 };
    const end = performance.now() + 2_000;
    for (let round = 0; performance.now() < end && round < 20_000; round += 1) {
      const place = await walkToPlace(swapRoot, 'target/file').catch((thrown: { type?: string }) => thrown.type ?? 'x');
      if (typeof place === 'string') {
        expect(['path_outside_workspace', 'file_not_found', 'x']).toContain(place);
        seen.refused += 1;
        continue;
      }
      if (place.entry === undefined) seen.absent += 1;
      else {
        expect(await content(place)).toBe('inside');
        seen.inside += 1;
      }
      await place.close();
    }
    await worker.terminate();
    expect(seen.inside).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
    rmSync(box, { recursive: true });
  }, 20_000);

  it('what is written after the walk lands in the directory that was walked into', async () => {
    const box = await mkdtemp(join(tmpdir(), 'swap-'));
    mkdirSync(join(box, 'ws/dir'), { recursive: true });
    mkdirSync(join(box, 'outside'));
    await using handle = await openDirectory(join(box, 'ws'));
    const place = await walkToPlace({ handle, path: join(box, 'ws'), owner: root.owner }, 'dir/new');
    renameSync(join(box, 'ws/dir'), join(box, 'ws/moved'));
    symlinkSync('../outside', join(box, 'ws/dir'));
    writeFileSync(join(place.directory, place.name), 'x');
    expect(existsSync(join(box, 'ws/moved/new'))).toBe(true);
    expect(existsSync(join(box, 'outside/new'))).toBe(false);
    await place.close();
    rmSync(box, { recursive: true });
  });

  it('no descriptor is left open, however a walk ends', async () => {
    const { readdirSync } = await import('node:fs');
    const count = () => readdirSync('/proc/self/fd').length;
    const before = count();
    for (const path of [...OUTSIDE, ...NOT_THERE, 'dir/sub/../file', 'to-dir/file', 'pipe', '.']) {
      await walkToPlace(root, path).then(
        (place) => place.close(),
        () => {},
      );
    }
    expect(count()).toBe(before);
  });
});

describe('RT-5: every tool keeps to the workspace', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  const outsideFile = () => join(fixture.base, 'outside.txt');

  beforeAll(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
    writeFileSync(outsideFile(), CANARY);
    await putFile(workspace, 'a.txt', 'inside\n');
    symlinkSync(outsideFile(), join(workspace.root, 'link.txt'));
    symlinkSync('../../../outside.txt', join(workspace.root, 'relative.txt'));
    symlinkSync('../../..', join(workspace.root, 'up'));
    symlinkSync('/dev/zero', join(workspace.root, 'zero'));
    execFileSync('mkfifo', [join(workspace.root, 'pipe')]);
  });
  afterAll(() => fixture.remove());

  const PATHS = ['link.txt', 'relative.txt', 'up/outside.txt', '../outside.txt', '/etc/passwd', 'zero', 'up'];

  it.each(PATHS)('read, search, list and edit refuse %s', async (path) => {
    const calls: [string, Record<string, unknown>][] = [
      ['workspace.read_file', { path }],
      ['workspace.search_code', { path, pattern: 'CANARY' }],
      ['workspace.list_files', { path }],
      ['workspace.edit_file', { path, old_text: CANARY, new_text: 'x', expected_sha256: '0'.repeat(64) }],
      ['workspace.edit_file', { path, old_text: '', new_text: 'x', expected_sha256: 'absent' }],
    ];
    for (const [handler, args] of calls) {
      const type = await errorType(callTool(fixture.driver, handler, workspace, args));
      expect([handler, type]).toEqual([handler, 'path_outside_workspace']);
    }
    expect(await readFile(outsideFile(), 'utf8')).toBe(CANARY);
  });

  it('a search of the whole workspace follows no link', async () => {
    const outcome = await callTool(fixture.driver, 'workspace.search_code', workspace, { pattern: 'CANARY|root:' });
    expect(outcome.data).toMatchObject({ matches_total: 0 });
  });

  it.each(['workspace.read_file', 'workspace.search_code', 'workspace.list_files'])(
    '%s does not wait for a pipe',
    async (handler) => {
      const args = handler === 'workspace.search_code' ? { path: 'pipe', pattern: 'x' } : { path: 'pipe' };
      expect(await errorType(callTool(fixture.driver, handler, workspace, args))).toBe('not_a_file');
    },
  );
});
