import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError, type Json, sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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

describe('workspace.edit_file', () => {
  it('CL-2: replaces exactly, returns a real diff, both hashes and evidence', async () => {
    await putFile(workspace, 'src/a.ts', 'one\ntwo\nthree\n');
    const before = sha256Hex('one\ntwo\nthree\n');
    const outcome = await edit({ path: 'src/a.ts', old_text: 'two', new_text: '2', expected_sha256: before });
    expect(read('src/a.ts')).toBe('one\n2\nthree\n');
    const after = sha256Hex('one\n2\nthree\n');
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      trust: 'untrusted',
      origin: `workspace:${workspace.id}`,
      data: { path: 'src/a.ts', created: false, before_sha256: before, after_sha256: after, replacements: 1 },
      evidence: [{ kind: 'file', ref: 'src/a.ts', detail: `sha256:${before} to sha256:${after}` }],
    });
    const { diff } = outcome.data as { diff: string };
    expect(diff).toBe('--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n');
  });

  it('PO-9: a link does not lead out of what may be written in the task', async () => {
    await putFile(workspace, 'src/a.ts', 'one');
    await putFile(workspace, 'package.json', 'one');
    symlinkSync('../package.json', join(workspace.root, 'src/link.json'));
    symlinkSync('..', join(workspace.root, 'src/up'));
    const change = { old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one') };
    const begun: string[] = [];
    const options = { writable: ['src/**'], beginEffect: async () => void begun.push('begun') };
    for (const path of ['src/link.json', 'src/up/package.json', 'package.json', 'src/../package.json'])
      expect(await errorType(edit({ ...change, path }, options))).toMatch(/constraint_violated|not_a_file/);
    const absent = { old_text: '', new_text: 'x', expected_sha256: 'absent' };
    expect(await errorType(edit({ ...absent, path: 'src/up/new.ts' }, options))).toBe('constraint_violated');
    expect([read('package.json'), begun]).toEqual(['one', []]);
    await edit({ ...change, path: 'src/a.ts' }, options);
    expect(read('src/a.ts')).toBe('two');
  });

  it('RS-2: the diff is what git makes of the change', async () => {
    const text = Array.from({ length: 200 }, (_, i) => `line ${i}\n`).join('');
    const file = await putFile(workspace, 'a.txt', text);
    const copy = join(fixture.base, `copy-${workspace.id}`);
    mkdirSync(copy);
    writeFileSync(join(copy, 'a.txt'), text);
    const outcome = await edit({
      path: 'a.txt',
      old_text: 'line 17',
      new_text: 'LINE 17',
      replace_all: true,
      expected_sha256: sha256Hex(text),
    });
    execFileSync('git', ['apply', '--unsafe-paths', `--directory=${copy}`], {
      cwd: '/',
      input: (outcome.data as { diff: string }).diff,
    });
    expect(readFileSync(join(copy, 'a.txt'), 'utf8')).toBe(readFileSync(file, 'utf8'));
    expect(outcome.data).toMatchObject({ replacements: 11 });
  });

  it('RT-5: a stale hash is refused before any effect', async () => {
    await putFile(workspace, 'a.txt', 'now');
    let begun = 0;
    const beginEffect = async () => {
      begun += 1;
    };
    const args = { path: 'a.txt', old_text: 'now', new_text: 'later', expected_sha256: sha256Hex('before') };
    expect(await errorType(edit(args, { beginEffect }))).toBe('stale_version');
    expect(begun).toBe(0);
    expect(read('a.txt')).toBe('now');
  });

  it('RT-5: a file that changes between the check and the write is not overwritten', async () => {
    await putFile(workspace, 'a.txt', 'one');
    const beginEffect = async () => writeFileSync(join(workspace.root, 'a.txt'), 'somebody else');
    const outcome = await edit(
      { path: 'a.txt', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one') },
      { beginEffect },
    );
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'stale_version' } });
    expect(read('a.txt')).toBe('somebody else');
    expect(temporaries()).toEqual([]);
  });

  it('tells the intent before the first byte: path, and the hashes before and after', async () => {
    await putFile(workspace, 'a.txt', 'one');
    let intent: Json = null;
    const beginEffect = async (given: Json) => {
      intent = given;
      expect(read('a.txt')).toBe('one');
      expect(temporaries()).toEqual([]);
    };
    await edit(
      { path: './a.txt', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one') },
      { beginEffect },
    );
    expect(intent).toMatchObject({ path: 'a.txt', before: sha256Hex('one'), after: sha256Hex('two') });
  });

  it('L3: when the start of the effect is refused, nothing is written', async () => {
    await putFile(workspace, 'a.txt', 'one');
    const beginEffect = async () => {
      throw new FabricError('cancelled', 'the claim was lost');
    };
    const work = edit(
      { path: 'a.txt', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one') },
      { beginEffect },
    );
    expect(await errorType(work)).toBe('cancelled');
    expect(read('a.txt')).toBe('one');
    expect(temporaries()).toEqual([]);
  });

  it('RE-4: a cancel that comes before the rename leaves the file as it was, and says that nothing happened', async () => {
    await putFile(workspace, 'a.txt', 'one');
    const abort = new AbortController();
    const beginEffect = async () => abort.abort(new FabricError('cancelled', 'the call was cancelled'));
    const outcome = await edit(
      { path: 'a.txt', old_text: 'one', new_text: 'two', expected_sha256: sha256Hex('one') },
      { beginEffect, signal: abort.signal },
    );
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'cancelled' } });
    expect(read('a.txt')).toBe('one');
    expect(temporaries()).toEqual([]);
  });

  it('makes a file and its directories, and never over one that exists', async () => {
    const outcome = await edit({ path: 'docs/new/a.md', old_text: '', new_text: '# A\n', expected_sha256: 'absent' });
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      data: { created: true, before_sha256: 'absent' },
    });
    expect((outcome.data as { diff: string }).diff).toContain('--- /dev/null');
    expect(read('docs/new/a.md')).toBe('# A\n');
    const again = { path: 'docs/new/a.md', old_text: '', new_text: '# B\n', expected_sha256: 'absent' };
    expect(await errorType(edit(again))).toBe('stale_version');
    const raced = await edit(
      { path: 'docs/raced.md', old_text: '', new_text: 'mine', expected_sha256: 'absent' },
      { beginEffect: async () => writeFileSync(join(workspace.root, 'docs/raced.md'), 'theirs') },
    );
    expect(raced).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'stale_version' } });
    expect(read('docs/raced.md')).toBe('theirs');
  });

  it('CRLF files stay CRLF, and a file without a final newline stays so', async () => {
    await putFile(workspace, 'dos.txt', 'a\r\nb\r\nc');
    const outcome = await edit({
      path: 'dos.txt',
      old_text: 'a\nb',
      new_text: 'a\nx\nb',
      expected_sha256: sha256Hex('a\r\nb\r\nc'),
    });
    expect(read('dos.txt')).toBe('a\r\nx\r\nb\r\nc');
    expect(outcome.data).toMatchObject({ line_ends: 'crlf' });
  });

  it('RS-3: a diff over the budget is cut, and says so; the write is confirmed all the same', async () => {
    const text = Array.from({ length: 3000 }, (_, i) => `word ${i}\n`).join('');
    await putFile(workspace, 'big.txt', text);
    const outcome = await edit(
      { path: 'big.txt', old_text: 'word', new_text: 'term', replace_all: true, expected_sha256: sha256Hex(text) },
      { outputBytes: 8_000 },
    );
    expect(Buffer.byteLength(JSON.stringify(outcome.data))).toBeLessThanOrEqual(8_000);
    expect(outcome.truncation?.[0]).toMatchObject({ stream: 'diff', unit: 'bytes' });
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'confirmed', data: { replacements: 3000 } });
    expect(read('big.txt')).toBe(text.replaceAll('word', 'term'));
  });

  it('a file above the limit is refused', async () => {
    const text = 'x'.repeat(5 * 1024 * 1024);
    await putFile(workspace, 'huge.txt', text);
    const args = { path: 'huge.txt', old_text: 'x', new_text: 'y', expected_sha256: sha256Hex(text) };
    expect(await errorType(edit(args))).toBe('too_large');
  });

  it('edits of one workspace follow one another: of two on the same hash, one is stale', async () => {
    await putFile(workspace, 'a.txt', 'n=0\n');
    const args = { path: 'a.txt', old_text: 'n=0', expected_sha256: sha256Hex('n=0\n') };
    const types = await Promise.all([1, 2, 3].map((n) => errorType(edit({ ...args, new_text: `n=${n}` }))));
    expect(types.toSorted()).toEqual(['none', 'stale_version', 'stale_version']);
  });

  it('RT-8: without a workspace, or one that is gone, the call ends in workspace_missing', async () => {
    const args = { path: 'a.txt', old_text: 'a', new_text: 'b', expected_sha256: sha256Hex('a') };
    const call = (ref: Pick<WorkspaceRecord, 'id' | 'source'> | undefined) =>
      errorType(callTool(fixture.driver, 'workspace.edit_file', ref, args));
    expect(await call(undefined)).toBe('workspace_missing');
    expect(await call({ id: 't-other', source: { type: 'empty' } })).toBe('workspace_missing');
    expect(await call({ id: '../../etc', source: { type: 'empty' } })).toBe('workspace_missing');
    expect(await call({ ...workspace, source: { type: 'clone', path: '/x' } })).toBe('workspace_missing');
  });
});
