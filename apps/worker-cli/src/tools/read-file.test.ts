import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

let fixture: Fixture;
let workspace: WorkspaceRecord;
beforeAll(async () => {
  fixture = await makeFixture();
  workspace = await makeWorkspace(fixture);
});
afterAll(() => fixture.remove());

const read = (args: Record<string, unknown>, options: CallOptions = {}) =>
  callTool(fixture.driver, 'workspace.read_file', workspace, args, options);
const readText = async (
  content: string | Uint8Array,
  args: Record<string, unknown> = {},
  options: CallOptions = {},
) => {
  await putFile(workspace, 'f.txt', content);
  const outcome = await read({ path: 'f.txt', ...args }, options);
  return { ...outcome, data: outcome.data as Record<string, unknown> & { text: string } };
};

const LINES = 'one\ntwo\nthree\nfour\n';

describe('workspace.read_file', () => {
  it('CL-2: gives text, lines, and the hash of the whole file as data and as evidence', async () => {
    const outcome = await readText(LINES, { start_line: 2, end_line: 3 });
    const sha256 = sha256Hex(LINES);
    expect(outcome.data).toEqual({
      path: 'f.txt',
      text: 'two\nthree\n',
      start_line: 2,
      end_line: 3,
      total_lines: 4,
      size: 19,
      sha256,
    });
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'none',
      trust: 'untrusted',
      origin: `workspace:${workspace.id}`,
      evidence: [{ kind: 'file', ref: 'f.txt', detail: `sha256:${sha256}` }],
    });
    expect(outcome.truncation).toBeUndefined();
  });

  it.each([
    ['whole', LINES, {}, LINES, 1, 4, 4],
    ['to beyond the end', LINES, { start_line: 3, end_line: 99 }, 'three\nfour\n', 3, 4, 4],
    ['no final newline', 'a\nb', { start_line: 2 }, 'b', 2, 2, 2],
    ['empty', '', {}, '', 1, 0, 0],
    ['only line ends', '\n\n', {}, '\n\n', 1, 2, 2],
    ['CRLF', 'a\r\nb\r\n', { end_line: 1 }, 'a\r\n', 1, 1, 2],
    ['with a byte order mark', '\ufeffa\n', {}, '\ufeffa\n', 1, 1, 1],
    ['control characters', 'a\u0007b\n', {}, 'a\u0007b\n', 1, 1, 1],
  ])('%s', async (_, content, args, text, start_line, end_line, total_lines) => {
    expect((await readText(content, args)).data).toMatchObject({
      text,
      start_line,
      end_line,
      total_lines,
      sha256: sha256Hex(content),
    });
  });

  it('RT-4: a range that the file does not have is refused with the field', async () => {
    await putFile(workspace, 'f.txt', LINES);
    await expect(read({ path: 'f.txt', start_line: 5 })).rejects.toMatchObject({
      type: 'invalid_arguments',
      details: { fields: [{ field: '/start_line', expected: expect.stringContaining('4'), got: '5' }] },
    });
    expect(await errorType(read({ path: 'f.txt', start_line: 3, end_line: 2 }))).toBe('invalid_arguments');
  });

  it.each([
    ['NUL at the start', Buffer.from([0, 1, 2])],
    ['NUL far behind', Buffer.concat([Buffer.alloc(300_000, 'a'), Buffer.from([0])])],
    ['latin-1', Buffer.from([0x66, 0xfc, 0x72])],
    ['UTF-8 cut short', Buffer.from('grün').subarray(0, 3)],
    ['an overlong form', Buffer.from([0xc0, 0xaf])],
    ['UTF-16', Buffer.from('hello', 'utf16le')],
  ])('%s is binary_file', async (_, content) => {
    await putFile(workspace, 'f.bin', content);
    expect(await errorType(read({ path: 'f.bin' }))).toBe('binary_file');
  });

  it('UTF-8 that lies across the reading buffer is no error', async () => {
    const content = `${'x'.repeat(256 * 1024 - 1)}ü😀\n`;
    expect((await readText(content, {}, { outputBytes: 8_000 })).data).toMatchObject({
      size: Buffer.byteLength(content),
      sha256: sha256Hex(content),
    });
  });

  it('RS-3: what does not fit is cut after a line, stated, and goes on at next_line', async () => {
    const content = Array.from({ length: 5000 }, (_, i) => `line number ${i + 1}\n`).join('');
    let text = '';
    let next = 1;
    for (let round = 0; round < 50 && next <= 5000; round += 1) {
      const outcome = await readText(content, { start_line: next }, { outputBytes: 12_000 });
      expect(Buffer.byteLength(JSON.stringify(outcome.data))).toBeLessThanOrEqual(12_000);
      text += outcome.data.text;
      next = (outcome.data['next_line'] as number | undefined) ?? 5001;
      if (next <= 5000) {
        const kept = Buffer.byteLength(outcome.data.text);
        expect(outcome.truncation).toMatchObject([{ stream: 'text', kept, unit: 'bytes' }]);
        expect(outcome.data['cut_line']).toBe(false);
      }
    }
    expect(text).toBe(content);
  });

  it('RS-3: a line of 100 MB is cut inside, with bounded memory', async () => {
    const file = await putFile(workspace, 'f.txt', '');
    const descriptor = openSync(file, 'w');
    const block = Buffer.alloc(10 * 1024 * 1024, 'ab');
    for (let i = 0; i < 10; i += 1) writeSync(descriptor, block);
    closeSync(descriptor);
    const before = process.memoryUsage().rss;
    const outcome = await read({ path: 'f.txt' });
    expect(process.memoryUsage().rss - before).toBeLessThan(80_000_000);
    expect(outcome.data).toMatchObject({ total_lines: 1, size: 104_857_600, cut_line: true, next_line: 2 });
    expect(outcome.truncation).toMatchObject([{ total: 104_857_600 }]);
    expect(Buffer.byteLength(JSON.stringify(outcome.data))).toBeLessThanOrEqual(40_000);
  });

  it('RE-4: a cancel ends it, however large the file is', async () => {
    const file = await putFile(workspace, 'sparse', '');
    const descriptor = openSync(file, 'r+');
    ftruncateSync(descriptor, 2 ** 40);
    closeSync(descriptor);
    const abort = new AbortController();
    const reading = errorType(read({ path: 'sparse' }, { signal: abort.signal }));
    setTimeout(() => abort.abort(), 50);
    expect(await reading).toBe('cancelled');
  });

  it.each([
    ['file_not_found', 'nowhere.txt'],
    ['file_not_found', `${'d/'.repeat(50)}x`],
    ['not_a_file', '.'],
    ['not_a_file', 'dir'],
    ['path_outside_workspace', '../x'],
  ])('%s for %s', async (type, path) => {
    await putFile(workspace, 'dir/x', '');
    expect(await errorType(read({ path }))).toBe(type);
  });

  it.each(['-rf', "it's", 'new\nline', '"q"', '*', ' '])('a file called %j is read', async (path) => {
    await putFile(workspace, path, 'x\n');
    expect((await read({ path })).data).toMatchObject({ path, text: 'x\n' });
    expect(join(workspace.root, path)).toBeTruthy();
  });
});
