import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callTool, errorType, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { processesThatAre, processesUnder, processesWith } from '../testing/host-processes.ts';
import { putFile } from '../testing/put-file.ts';
import { waitUntil } from '../testing/wait-until.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

const STAND = fileURLToPath(new URL('../testing/stand-sandbox.ts', import.meta.url));

const stateOf = (pid: number): string => /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

describe('protocol 7 (c): a worker that is paused beside a sandbox that stands', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  let worker: ChildProcessByStdio<Writable, Readable, null>;
  let said: AsyncIterator<string>;
  beforeEach(async () => {
    fixture = await makeFixture({ lockWaitMs: 1_000 });
    workspace = await makeWorkspace(fixture);
    worker = spawn(process.execPath, [STAND, JSON.stringify({ settings: fixture.settings, workspace })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    said = createInterface({ input: worker.stdout })[Symbol.asyncIterator]();
    expect(await hears()).toBe('stands');
  }, 30_000);
  afterEach(async () => {
    worker.kill('SIGKILL');
    await fixture.remove();
    await waitUntil(() => processesWith(workspace.root).length === 0);
  });

  const hears = async (): Promise<string> => String((await said.next()).value);
  const pause = async () => {
    worker.kill('SIGSTOP');
    await waitUntil(() => stateOf(worker.pid ?? 0) === 'T');
  };
  const tells = (argv: string[]) => worker.stdin.write(`${JSON.stringify(argv)}\n`);
  /** What another worker of the same machine does. */
  const other = (argv: string[]) => callTool(fixture.driver, 'process.run', workspace, { argv });

  /** Paused while it does not have the lock, which it keeps at hand for a moment after each of its commands. */
  const pauseWithoutLock = async () => {
    for (let tries = 0; tries < 10; tries += 1) {
      await waitUntil(() => processesWith(`${workspace.root} /`).length > 0, 10_000);
      await pause();
      if ((await errorType(other(['true']))) !== 'workspace_busy') return;
      worker.kill('SIGCONT');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };

  /** What the paused worker holds ready, and nothing of anybody else: one of its own that is just ending is waited out. */
  const standingOnes = async (): Promise<string[]> => {
    const look = () => processesUnder(worker.pid ?? 0, `${workspace.root} /`);
    let before = look();
    await waitUntil(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const seen = before;
      before = look();
      return before.length > 0 && before.join() === seen.join();
    }, 10_000);
    return before;
  };

  it('holds nobody up between two commands, begins nothing, and goes on with what is there then', async () => {
    await pauseWithoutLock();
    const standing = await standingOnes();
    tells(['node', 'main.mjs']);
    mkdirSync(join(workspace.root, '.git/hooks'), { recursive: true, mode: 0o777 });
    await putFile(
      workspace,
      'main.mjs',
      `import fs from 'node:fs';
fs.appendFileSync('runs.txt', 'run ');
try { fs.writeFileSync('.git/config', 'x'); console.log('wrote'); } catch (thrown) { console.log(thrown.code); }`,
    );
    for (let round = 0; round < 3; round += 1)
      expect(await other(['node', 'main.mjs'])).toMatchObject({ status: 'ok' });
    expect(readFileSync(join(workspace.root, 'runs.txt'), 'utf8')).toBe('run run run ');
    expect(await standingOnes()).toEqual(standing);
    worker.kill('SIGCONT');
    expect(JSON.parse(await hears())).toMatchObject({ status: 'ok', data: { stdout: { text: 'EROFS\n' } } });
    expect(readFileSync(join(workspace.root, 'runs.txt'), 'utf8')).toBe('run run run run ');
    expect(existsSync(join(workspace.root, '.git/config'))).toBe(false);
  }, 30_000);

  it('keeps its workspace while its command goes on, and gives it back when it is ended', async () => {
    const mark = `24.${String(Math.random()).slice(2, 9)}`;
    tells(['sleep', mark]);
    await waitUntil(() => processesThatAre(`/usr/bin/sleep -- ${mark}`).length > 0, 10_000);
    await pause();
    expect(await errorType(other(['touch', 'made']))).toBe('workspace_busy');
    expect(existsSync(join(workspace.root, 'made'))).toBe(false);
    worker.kill('SIGKILL');
    await waitUntil(async () => (await errorType(other(['touch', 'made']))) === 'none', 15_000);
    expect(processesThatAre(`/usr/bin/sleep -- ${mark}`)).toEqual([]);
  }, 40_000);
});
