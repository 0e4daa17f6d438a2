import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDriver } from '../driver.ts';
import { callTool, errorType, type Fixture, makeFixture, makeWorkspace, probeTool } from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import { startEditing } from '../testing/start-editing.ts';
import { waitUntil } from '../testing/wait-until.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

const ONE = 'one one one one one one one one\n'.repeat(20_000);
const TWO = ONE.replaceAll('one', 'two');
const step = (from: string, to: string) => ({
  path: 'a.txt',
  old_text: from,
  new_text: to,
  replace_all: true,
  expected_sha256: sha256Hex(from === 'one' ? ONE : TWO),
});
const INTENT: Json = {
  path: 'a.txt',
  before: sha256Hex(ONE),
  after: sha256Hex(TWO),
  replacements: 160_000,
  diff: '@@',
  diff_bytes: 999,
};

let fixture: Fixture;
let workspace: WorkspaceRecord;
beforeAll(async () => {
  fixture = await makeFixture({ lockWaitMs: 300 });
});
afterAll(() => fixture.remove());
beforeEach(async () => {
  workspace = await makeWorkspace(fixture);
  await putFile(workspace, 'a.txt', ONE);
});

const read = () => readFileSync(join(workspace.root, 'a.txt'), 'utf8');
const temporaries = () => readdirSync(workspace.root).filter((name) => name.startsWith('.toolfabric-tmp-'));
const probe = (intent: Json = INTENT) =>
  probeTool(fixture.driver, 'workspace.edit_file', workspace, step('one', 'two'), intent);
const editing = (more: Partial<Parameters<typeof startEditing>[0]> = {}) =>
  startEditing({ settings: fixture.settings, workspace, steps: [step('one', 'two')], ...more });
const smallEdit = () =>
  callTool(fixture.driver, 'workspace.edit_file', workspace, {
    path: 'new.txt',
    old_text: '',
    new_text: 'x',
    expected_sha256: 'absent',
  });

describe('RE-6: an edit that is interrupted', () => {
  it('leaves the old file or the new one, whole, at whatever moment the worker is killed', async () => {
    const seen = { one: 0, two: 0, leftovers: 0 };
    for (let round = 0; round < 10; round += 1) {
      await putFile(workspace, 'a.txt', ONE);
      const worker = editing({ steps: [step('one', 'two'), step('two', 'one')], forever: true });
      await worker.heard('begun', 1 + (round % 3));
      // Nothing tells when a write is half done; different delays meet different moments of it.
      await new Promise((resolve) => setTimeout(resolve, (round * 7) % 23));
      await worker.kill();
      const now = read();
      expect([ONE, TWO].includes(now)).toBe(true);
      seen[now === ONE ? 'one' : 'two'] += 1;
      seen.leftovers += temporaries().length;
      const answer = await probe();
      expect(answer).toMatchObject(now === ONE ? { answer: 'absent', fence: true } : { answer: 'found' });
      expect(temporaries()).toEqual([]);
    }
    expect(seen.one + seen.two).toBe(10);
  }, 60_000);

  it('RE-2: killed right after the rename, the probe finds it and gives a receipt with the diff', async () => {
    for (let round = 0; round < 3; round += 1) {
      await putFile(workspace, 'a.txt', ONE);
      const worker = editing({ faults: 'worker.after-write:kill' });
      await worker.ended();
      expect(worker.said).toEqual(['begun']);
      expect(read()).toBe(TWO);
      const answer = await probe();
      expect(answer).toMatchObject({
        answer: 'found',
        receipt: {
          status: 'ok',
          sideEffect: 'confirmed',
          data: { path: 'a.txt', after_sha256: sha256Hex(TWO), diff: '@@', diff_bytes: 999 },
          evidence: [{ kind: 'file', ref: 'a.txt' }],
        },
      });
    }
  });

  it('the temporary file of a dead worker is invisible, and the next edit removes it', async () => {
    const name = `.toolfabric-tmp-${'a'.repeat(26)}`;
    await putFile(workspace, name, 'HALF WRITTEN');
    writeFileSync(join(fixture.settings.layout.locks, workspace.lock), JSON.stringify({ directory: '', name }));
    const call = (handler: string, args: Record<string, unknown>) => callTool(fixture.driver, handler, workspace, args);
    expect((await call('workspace.list_files', {})).data).toMatchObject({ files: ['a.txt'] });
    expect((await call('workspace.search_code', { pattern: 'HALF' })).data).toMatchObject({ matches_total: 0 });
    expect(await errorType(call('workspace.read_file', { path: name }))).toBe('file_not_found');
    await smallEdit();
    expect(temporaries()).toEqual([]);
  });

  it('a note that names anything else than a temporary file removes nothing', async () => {
    for (const note of ['{"directory":"","name":"a.txt"}', '{"directory":"../..","name":"x"}', 'no json', '{}']) {
      writeFileSync(join(fixture.settings.layout.locks, workspace.lock), note);
      expect((await probe()).answer).toBe('absent');
    }
    expect(read()).toBe(ONE);
  });
});

describe('protocol 7 (c): the kernel lock of a workspace', () => {
  it('is held through a pause: nobody else writes, no probe answers, until the worker is dead', async () => {
    const worker = editing({ stopAtBegin: true });
    await worker.heard('begun');
    await waitUntil(() => /^State:\s+T/m.test(readFileSync(`/proc/${worker.child.pid}/status`, 'utf8')));
    expect(await errorType(smallEdit())).toBe('workspace_busy');
    expect(await probe()).toMatchObject({ answer: 'not_visible', reason: 'workspace_busy' });
    await worker.kill();
    expect(await probe()).toEqual({ answer: 'absent', fence: true });
    expect(await errorType(smallEdit())).toBe('none');
    expect(read()).toBe(ONE);
  });

  it('a worker that is resumed finishes its write under the same lock', async () => {
    const worker = editing({ stopAtBegin: true });
    await worker.heard('begun');
    await waitUntil(() => /^State:\s+T/m.test(readFileSync(`/proc/${worker.child.pid}/status`, 'utf8')));
    expect((await probe()).answer).toBe('not_visible');
    worker.child.kill('SIGCONT');
    await worker.ended();
    expect(worker.said).toEqual(['begun', 'ok']);
    expect((await probe()).answer).toBe('found');
  });

  it('paused right after the rename it is held too; the death of the worker frees it', async () => {
    const worker = editing({ faults: 'worker.after-write:pause' });
    await waitUntil(() => read() === TWO);
    expect((await probe()).answer).toBe('not_visible');
    await worker.kill();
    expect((await probe()).answer).toBe('found');
  });

  it('waiting for it is bounded, and ends at the cancel', async () => {
    const patient = await createDriver(fixture.settings, { lockWaitMs: 20_000 });
    const worker = editing({ stopAtBegin: true });
    await worker.heard('begun');
    const abort = new AbortController();
    const args = { path: 'new.txt', old_text: '', new_text: 'x', expected_sha256: 'absent' };
    const waiting = errorType(callTool(patient, 'workspace.edit_file', workspace, args, { signal: abort.signal }));
    abort.abort();
    expect(await waiting).toBe('cancelled');
    await worker.kill();
  });

  it('without flock on the PATH nothing is written', async () => {
    const settings = { ...fixture.settings, programs: { ...fixture.settings.programs, flock: undefined } };
    const driver = await createDriver(settings, { lockWaitMs: 100 });
    expect(await errorType(callTool(driver, 'workspace.edit_file', workspace, step('one', 'two')))).toBe(
      'sandbox_unavailable',
    );
    const broken = { ...settings, programs: { ...settings.programs, flock: '/nonexistent/flock' } };
    const other = await createDriver(broken, { lockWaitMs: 100 });
    expect(await errorType(callTool(other, 'workspace.edit_file', workspace, step('one', 'two')))).toBe(
      'sandbox_unavailable',
    );
    expect(read()).toBe(ONE);
  });
});

describe('RE-2: the probe of an edit', () => {
  it('says that nobody can tell, where the file holds a third thing, is no file, or left no intent', async () => {
    await putFile(workspace, 'a.txt', 'third');
    expect((await probe()).answer).toBe('not_visible');
    expect(
      (await probeTool(fixture.driver, 'workspace.edit_file', workspace, step('one', 'two'), undefined)).answer,
    ).toBe('not_visible');
    expect((await probe({ path: '../../a.txt', before: 'absent', after: 'x' })).answer).toBe('not_visible');
    const gone = { id: 't-gone', source: { type: 'empty' as const } };
    expect((await probeTool(fixture.driver, 'workspace.edit_file', gone, step('one', 'two'), INTENT)).answer).toBe(
      'not_visible',
    );
  });

  it('a file that was to be made is absent, or found', async () => {
    const intent = { path: 'dir/new.txt', before: 'absent', after: sha256Hex('new') };
    expect(await probe(intent)).toEqual({ answer: 'absent', fence: true });
    await putFile(workspace, 'dir/new.txt', 'new');
    expect(await probe(intent)).toMatchObject({ answer: 'found', receipt: { data: { created: true } } });
  });

  it('changes nothing', async () => {
    await probe();
    expect(read()).toBe(ONE);
  });
});
