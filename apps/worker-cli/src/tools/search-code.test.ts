import { closeSync, linkSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDriver } from '../driver.ts';
import {
  type CallOptions,
  callTool,
  errorType,
  type Fixture,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

interface Found {
  readonly files: { path: string; lines: { line: number; text: string; hit: boolean; cut?: true }[] }[];
  readonly matches_shown: number;
  readonly matches_total: number;
  readonly total_is_exact: boolean;
  readonly stopped_by?: string;
}

let fixture: Fixture;
let workspace: WorkspaceRecord;
beforeAll(async () => {
  fixture = await makeFixture();
  workspace = await makeWorkspace(fixture);
  const files = {
    '.gitignore': 'dist/\n',
    '.ripgreprc': '--pre=/bin/false\n',
    'a.ts': 'first\nneedle one\nthird\nfourth\nfifth\nneedle two\nlast',
    'b.md': 'Needle\n',
    'dist/out.js': 'needle\n',
    '.git/config': 'needle\n',
    '.github/ci.yml': 'needle: yes\n',
    'src/-rf.ts': 'a.*b needle\n',
    'src/new\nline.ts': 'needle\n',
    'dos.txt': 'one\r\nneedle\r\n',
    'regex.txt': 'f(x) = [a+b]\n',
  };
  for (const [path, content] of Object.entries(files)) await putFile(workspace, path, content);
  await putFile(workspace, 'bin.dat', 'needle before\n\0needle after\n');
  await putFile(workspace, 'latin1.txt', Buffer.from('needle f\xfcr\n', 'latin1'));
});
afterAll(() => fixture.remove());

const search = async (args: Record<string, unknown>, options: CallOptions = {}, where = workspace) => {
  const outcome = await callTool(fixture.driver, 'workspace.search_code', where, args, options);
  return { ...outcome, data: outcome.data as unknown as Found };
};
const places = ({ data }: { data: Found }) =>
  data.files.flatMap(({ path, lines }) => lines.filter(({ hit }) => hit).map(({ line }) => `${path}:${line}`));

describe('workspace.search_code', () => {
  it('CL-2: finds lines in the files that are not ignored, with evidence', async () => {
    const outcome = await search({ pattern: 'needle' });
    expect(places(outcome)).toEqual([
      '.github/ci.yml:1',
      'a.ts:2',
      'a.ts:6',
      'dos.txt:2',
      'latin1.txt:1',
      'src/-rf.ts:1',
      'src/new\nline.ts:1',
    ]);
    expect(outcome.data).toMatchObject({ matches_shown: 7, matches_total: 7, total_is_exact: true });
    expect(outcome.evidence?.[1]).toEqual({ kind: 'line', ref: 'a.ts:2' });
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'none',
      trust: 'untrusted',
      origin: `workspace:${workspace.id}`,
    });
    const texts = outcome.data.files.flatMap(({ lines }) => lines.map(({ text }) => text));
    expect(texts).toContain('needle');
    expect(texts).toContain('needle f\ufffdr');
  });

  it('gives context, each line once', async () => {
    const { data } = await search({ pattern: 'needle', path: 'a.ts', context_lines: 2 });
    expect(data.files[0]?.lines.map(({ line, hit }) => (hit ? `${line}!` : line))).toEqual([1, '2!', 3, 4, 5, '6!', 7]);
    const first = await search({ pattern: 'needle', path: 'a.ts', context_lines: 1, max_matches: 1 });
    expect(first.data.files[0]?.lines.map(({ line }) => line)).toEqual([1, 2, 3]);
    expect(first.data).toMatchObject({ matches_shown: 1, matches_total: 2, stopped_by: 'matches' });
    expect(first.truncation).toEqual([{ stream: 'matches', kept: 1, total: 2, unit: 'items' }]);
  });

  it.each([
    [{ pattern: 'a.*b', literal: true }, ['src/-rf.ts:1']],
    [{ pattern: '[a+b]', literal: true }, ['regex.txt:1']],
    [{ pattern: '^NEEDLE$', ignore_case: true }, ['b.md:1', 'dos.txt:2', 'src/new\nline.ts:1']],
    [{ pattern: 'needle$', glob: '*.txt' }, ['dos.txt:2']],
    [{ pattern: 'needle', glob: 'src/**/*.ts' }, ['src/-rf.ts:1', 'src/new\nline.ts:1']],
    [{ pattern: 'needle', path: 'src' }, ['src/-rf.ts:1', 'src/new\nline.ts:1']],
    [{ pattern: 'needle', path: 'src/-rf.ts' }, ['src/-rf.ts:1']],
    [{ pattern: 'needle', path: 'dist' }, ['dist/out.js:1']],
    [{ pattern: '--files', literal: true }, []],
    [{ pattern: '-e needle' }, []],
    [{ pattern: '\\p{Lu}eedle' }, ['b.md:1']],
    [{ pattern: 'no such thing' }, []],
  ])('%j finds %j', async (args, found) => {
    expect(places(await search(args))).toEqual(found);
  });

  it.each([
    '(',
    '[a',
    '*a',
    'a{2',
    '(?<=x)y',
    '(a)\\1',
    '\\',
    'a\nb',
    'a\\nb',
    'a\\r?$',
    'x\0y',
    '\ud800',
    '(?P<n',
    'a{99999}{99999}',
    '\\p{Nonsense}',
  ])('RT-4: %j is invalid_pattern', async (pattern) => {
    expect(await errorType(search({ pattern }))).toBe('invalid_pattern');
  });

  it('a configuration file for ripgrep is not read, wherever it lies', async () => {
    const before = process.env['RIPGREP_CONFIG_PATH'];
    process.env['RIPGREP_CONFIG_PATH'] = join(workspace.root, '.ripgreprc');
    expect((await search({ pattern: 'needle' })).data.matches_total).toBe(7);
    if (before === undefined) delete process.env['RIPGREP_CONFIG_PATH'];
    else process.env['RIPGREP_CONFIG_PATH'] = before;
  });

  it('a long line is shown around its match; one beyond every bound without its text', async () => {
    const long = await makeWorkspace(fixture);
    await putFile(long, 'a.min.js', `${'x'.repeat(20_000)}needle${'y'.repeat(20_000)}\n`);
    await putFile(long, 'b.min.js', `short\n${'é'.repeat(90_000)}needle${'z'.repeat(90_000)}\nneedle\n`);
    const { data } = await search({ pattern: 'needle' }, {}, long);
    const [a, b] = data.files;
    expect(a?.lines[0]).toMatchObject({ line: 1, hit: true, cut: true, text: expect.stringContaining('xneedley') });
    expect(a?.lines[0]?.text.length).toBeLessThanOrEqual(400);
    expect(b?.lines).toMatchObject([
      { line: 2, text: '', hit: true, cut: true },
      { line: 3, text: 'needle', hit: true },
    ]);
  });

  it('RS-3: a line of 100 MB and a binary file of 50 MB, with bounded memory', async () => {
    const large = await makeWorkspace(fixture);
    const descriptor = openSync(await putFile(large, 'line.txt', ''), 'w');
    for (let i = 0; i < 100; i += 1) writeSync(descriptor, Buffer.alloc(1024 * 1024, 'ab'));
    writeSync(descriptor, 'needle');
    closeSync(descriptor);
    await putFile(large, 'z.bin', Buffer.concat([Buffer.from('needle\n'), Buffer.alloc(50 * 1024 * 1024)]));
    await putFile(large, 'z.txt', 'needle\n');
    const before = process.memoryUsage().rss;
    const outcome = await search({ pattern: 'needle' }, {}, large);
    expect(process.memoryUsage().rss - before).toBeLessThan(120_000_000);
    expect(places(outcome)).toContain('line.txt:1');
    expect(places(outcome)).toContain('z.txt:1');
  }, 30_000);

  it('RS-3: a million matches: bounded output, counted up to a bound, and stated', async () => {
    const many = await makeWorkspace(fixture);
    await putFile(many, 'many.txt', 'needle in a line\n'.repeat(1_000_000));
    const before = process.memoryUsage().rss;
    const outcome = await search({ pattern: 'needle', max_matches: 500 }, { outputBytes: 16_000 }, many);
    expect(process.memoryUsage().rss - before).toBeLessThan(120_000_000);
    expect(Buffer.byteLength(JSON.stringify(outcome.data))).toBeLessThanOrEqual(16_000);
    expect(outcome.data).toMatchObject({ matches_total: 10_000, total_is_exact: false, stopped_by: 'bytes' });
    expect(outcome.truncation).toMatchObject([{ stream: 'matches', kept: outcome.data.matches_shown, total: 10_000 }]);
  });

  it('the time is bounded: what was found so far comes back, marked as not all', async () => {
    const slow = await makeWorkspace(fixture);
    await putFile(slow, 'a.txt', 'needle\n');
    const large = await putFile(slow, 'b.txt', `${'ab'.repeat(500_000)}\n`.repeat(100));
    for (let copy = 0; copy < 40; copy += 1) linkSync(large, `${large}-${copy}.txt`);
    const pattern = 'needle|(\\w{1,90}\\s){2}';
    const outcome = await search({ pattern }, { timeoutMs: 2_500 }, slow);
    expect(outcome.data).toMatchObject({ stopped_by: 'time', total_is_exact: false });
    expect(places(outcome)).toEqual(['a.txt:1']);
  });

  it('RE-4: a cancel ends it with its reason', async () => {
    const abort = new AbortController();
    const searching = errorType(search({ pattern: 'needle' }, { signal: abort.signal }));
    abort.abort();
    expect(await searching).toBe('cancelled');
  });

  it.each([
    ['file_not_found', { pattern: 'x', path: 'nowhere' }],
    ['path_outside_workspace', { pattern: 'x', path: '../..' }],
    ['path_outside_workspace', { pattern: 'x', path: '/usr' }],
    ['invalid_arguments', { pattern: 'x', glob: '[a' }],
  ])('%s for %j', async (type, args) => {
    expect(await errorType(search(args))).toBe(type);
  });

  it('CL-6: without bubblewrap nothing is searched', async () => {
    for (const missing of ['bwrap', 'rg']) {
      const programs = { ...fixture.settings.programs, [missing]: undefined };
      const driver = await createDriver({ ...fixture.settings, programs }, { lockWaitMs: 100 });
      const call = callTool(driver, 'workspace.search_code', workspace, { pattern: 'needle' });
      expect(await errorType(call)).toBe('sandbox_unavailable');
    }
  });
});
