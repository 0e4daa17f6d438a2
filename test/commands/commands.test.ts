import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';

const WAIT = { waitMs: 60_000, timeoutMs: 75_000 };

const processesWith = (marker: string): number =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').includes(marker);
    } catch {
      return false;
    }
  }).length;

const marker = (): string => `7${String(Math.random()).slice(2, 11)}`;

describe('command tools over real processes', () => {
  let cluster: Cluster;
  let client: FabricClient;
  let source: string;
  beforeAll(async () => {
    cluster = await Cluster.startWith(['artifacts', 'router', 'gateway', 'cli']);
    client = cluster.client();
    source = join(cluster.workspaceRoot, 'project');
    const files = {
      'many.mjs': "for (let i = 0; i < 20000; i++) console.log('line ' + i + ' of the output');",
      'test/sum.test.mjs': `import { test } from 'node:test';
import assert from 'node:assert';
import { sum } from '../sum.mjs';
test('sums', () => {
  assert.strictEqual(sum(2, 2), 4);
});
`,
      'sum.mjs': 'export const sum = (a, b) => a - b;\n',
      'slow.mjs': `import fs from 'node:fs';
import { spawn } from 'node:child_process';
fs.appendFileSync('starts.txt', 'start\\n');
spawn('setsid', ['-f', 'sleep', process.argv[2]]);
console.log('first line');
setTimeout(() => console.log('second line'), 300);
setTimeout(() => {}, 60_000);
`,
      'slow.test.mjs': `import fs from 'node:fs';
fs.appendFileSync('starts.txt', 'start\\n');
if (fs.readFileSync('starts.txt', 'utf8').split('start').length === 2) await new Promise((done) => setTimeout(done, 60_000));
console.log('TAP version 13\\nok 1 - holds\\n# pass 1\\n# fail 0');
`,
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(source, path)), { recursive: true });
      writeFileSync(join(source, path), text);
    }
    const git = (...args: string[]) => execFileSync('git', ['-C', source, ...args], { stdio: 'ignore' });
    git('init', '-q');
    git('add', '-A');
    git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'first');
  });
  afterAll(() => cluster.stop());

  const task = async (argv?: string[]): Promise<string> =>
    (
      await client.createTask({
        title: 'commands',
        workspace: { type: 'clone', path: source },
        ...(argv === undefined ? {} : { testCommand: { argv } }),
      })
    ).taskId;
  const call = (
    taskId: string,
    tool: string,
    args: Record<string, never> | Record<string, unknown>,
  ): Promise<CallView> => client.call({ taskId, tool, args: args as Record<string, string> }, WAIT);
  const workspaceOf = (taskId: string): string => join(cluster.directory, 'state/workspaces', taskId);

  it('RS-3, RS-4: the whole output is an artifact of its owner, and of nobody else', async () => {
    const taskId = await task();
    const view = await call(taskId, 'process.run', { argv: ['node', 'many.mjs'] });
    expect(view).toMatchObject({ state: 'ok', result: { status: 'ok', data: { exit_code: 0, survivors: 0 } } });
    const whole = Array.from({ length: 20_000 }, (_, index) => `line ${index} of the output\n`).join('');
    const { stdout } = (view.result?.data ?? {}) as { stdout: { text: string; artifact: string; bytes: number } };
    expect(stdout.bytes).toBe(whole.length);
    expect(stdout.text.length).toBeLessThan(20_000);
    expect(view.result?.truncation).toContainEqual(expect.objectContaining({ stream: 'stdout', total: whole.length }));
    const { artifact, data } = await client.readArtifact(stdout.artifact);
    const hash = createHash('sha256');
    for await (const bytes of data) hash.update(bytes);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(whole).digest('hex'));
    expect(artifact).toMatchObject({ name: 'stdout', size: whole.length, trust: 'untrusted' });
    await expect(cluster.client({ user: 'bob' }).getArtifact(stdout.artifact)).rejects.toMatchObject({
      type: 'not_found',
    });
  });

  it('CL-2: a failing test, its file and line, an edit, and the test again', async () => {
    const taskId = await task(['node', '--test', 'test/sum.test.mjs']);
    const failed = await call(taskId, 'test.run', {});
    expect(failed).toMatchObject({
      state: 'ok',
      result: {
        data: {
          verdict: 'failed',
          tests: { failed: 1, failures: [{ name: 'sums', file: 'test/sum.test.mjs', line: 5 }] },
        },
      },
    });
    const read = await call(taskId, 'workspace.read_file', { path: 'sum.mjs' });
    const { sha256 } = (read.result?.data ?? {}) as { sha256: string };
    await call(taskId, 'workspace.edit_file', {
      path: 'sum.mjs',
      old_text: 'a - b',
      new_text: 'a + b',
      expected_sha256: sha256,
    });
    const passed = await call(taskId, 'test.run', {});
    expect(passed.result?.data).toMatchObject({ verdict: 'passed', tests: { passed: 1, failed: 0 } });
    const diff = await call(taskId, 'git.diff', {});
    expect(diff.result?.data).toMatchObject({ files: [{ path: 'sum.mjs', added: 1, removed: 1 }] });
    const status = await call(taskId, 'git.status', {});
    expect(status.result?.data).toMatchObject({ clean: false, entries: [{ path: 'sum.mjs', worktree: 'M' }] });
  });

  it('RG-8: another exit code than 0 is a reported failure, with its data and its effect', async () => {
    const view = await call(await task(), 'process.run', { argv: ['cat', 'missing.txt'] });
    expect(view).toMatchObject({
      state: 'error',
      result: { status: 'error', error: { type: 'reported_failure' }, data: { exit_code: 1 }, sideEffect: 'none' },
    });
    const refused = await call(await task(), 'process.run', { argv: ['node', '--eval', '1'] });
    expect(refused).toMatchObject({
      result: { error: { type: 'program_not_allowed', message: expect.stringContaining('--eval') } },
    });
  });

  it('RE-4, RE-5: a background call shows its log while it runs, and a cancel ends the whole tree', async () => {
    const taskId = await task();
    const mark = marker();
    const { callId } = await client.startCall({
      taskId,
      tool: 'process.run',
      args: { argv: ['node', 'slow.mjs', mark] },
      background: true,
    });
    let text = '';
    for await (const piece of client.readCallLog(callId, { follow: true, timeoutMs: 30_000 })) {
      text += Buffer.from(piece.data).toString();
      if (text.includes('second line')) break;
    }
    expect(text).toBe('first line\nsecond line\n');
    expect(processesWith(`sleep ${mark}`)).toBe(1);
    await client.cancelCall(callId);
    const end = await cluster.waitForState(callId, ['error', 'unknown', 'cancelled']);
    expect(end.result).toMatchObject({ error: { type: 'cancelled' }, sideEffect: 'confirmed', data: { survivors: 0 } });
    expect(processesWith(`sleep ${mark}`)).toBe(0);
  });

  it('RE-2, RE-3: a run whose worker is killed is not run again blindly; its program dies with the worker', async () => {
    const taskId = await task();
    const mark = marker();
    const { callId } = await client.startCall({
      taskId,
      tool: 'process.run',
      args: { argv: ['node', 'slow.mjs', mark] },
      background: true,
    });
    await expect.poll(() => processesWith(`sleep ${mark}`), { timeout: 30_000 }).toBe(1);
    await cluster.killAll('cli');
    await expect.poll(() => processesWith(`sleep ${mark}`), { timeout: 5_000 }).toBe(0);
    await cluster.ensure('cli');
    const end = await cluster.waitForState(callId, ['unknown', 'ok', 'error']);
    expect(end.state).toBe('unknown');
    expect(readFileSync(join(workspaceOf(taskId), 'starts.txt'), 'utf8')).toBe('start\n');
    // The workspace is free again.
    expect((await call(taskId, 'process.run', { argv: ['true'] })).state).toBe('ok');
  });

  it('RE-3: tests whose worker is killed are run again, since only a whole run is an answer', async () => {
    const taskId = await task(['node', 'slow.test.mjs']);
    const { callId } = await client.startCall({ taskId, tool: 'test.run', args: {} });
    await expect.poll(() => existsSync(join(workspaceOf(taskId), 'starts.txt')), { timeout: 30_000 }).toBe(true);
    await cluster.killAll('cli');
    await cluster.ensure('cli');
    const end = await cluster.waitForState(callId, ['ok', 'error'], 60_000);
    expect(end).toMatchObject({ state: 'ok', epoch: 2, result: { data: { verdict: 'passed' } } });
    expect(readFileSync(join(workspaceOf(taskId), 'starts.txt'), 'utf8')).toBe('start\nstart\n');
  });
});
