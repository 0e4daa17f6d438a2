import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callTool, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { processesThatAre, processesWith } from '../testing/host-processes.ts';
import { putFile } from '../testing/put-file.ts';
import { waitUntil } from '../testing/wait-until.ts';
import { lockWorkspace } from '../workspace/workspace-lock.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

describe('protocol 7 (c): the lock of a run', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeEach(async () => {
    fixture = await makeFixture({ lockWaitMs: 400 });
    workspace = await makeWorkspace(fixture);
  });
  afterEach(() => fixture.remove());

  const runLock = () => join(fixture.settings.layout.locks, `${workspace.lock}.run`);
  const run = (argv: string[]) => callTool(fixture.driver, 'process.run', workspace, { argv });
  /** What is left of a command whose worker is gone: a process that holds the lock of the run. */
  const leftover = async (): Promise<ChildProcess> => {
    const { flock = '' } = fixture.settings.programs;
    const child = spawn(flock, ['-x', '-o', runLock(), '/bin/sh', '-c', 'echo held; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    return child;
  };

  it.each([
    ['the first command', false],
    ['a sandbox that stands, with the lock at hand', true],
  ])('no command begins while a leftover holds it: %s', async (_, warm) => {
    if (warm) {
      await run(['true']);
      await waitUntil(() => fixture.driver.commands.confinement.standing.count(workspace.id) > 0);
      await run(['true']);
    }
    const holder = await leftover();
    expect(await run(['touch', 'made']).catch((thrown: { type: string }) => ({ error: thrown }))).toMatchObject({
      error: { type: 'workspace_busy' },
    });
    expect(existsSync(join(workspace.root, 'made'))).toBe(false);
    holder.kill('SIGKILL');
    await waitUntil(async () => (await run(['touch', 'made']).catch(() => ({ status: 'busy' }))).status === 'ok');
    expect(existsSync(join(workspace.root, 'made'))).toBe(true);
  });

  it('an edit waits for it too', async () => {
    const holder = await leftover();
    const edit = () =>
      callTool(fixture.driver, 'workspace.edit_file', workspace, {
        path: 'b.txt',
        old_text: '',
        new_text: 'b',
        expected_sha256: 'absent',
      });
    await expect(edit()).rejects.toMatchObject({ type: 'workspace_busy' });
    expect(existsSync(join(workspace.root, 'b.txt'))).toBe(false);
    const second = lockWorkspace({
      directory: fixture.settings.layout.locks,
      name: workspace.lock,
      flock: fixture.settings.programs.flock ?? '',
      waitMs: 10_000,
      signal: new AbortController().signal,
    });
    holder.kill('SIGKILL');
    await (await second).release();
    expect(await edit()).toMatchObject({ status: 'ok' });
  });

  it('a worker that is killed in a command which ignores everything: the lock is had once its last process is gone', async () => {
    const mark = `7${String(Math.random()).slice(2, 11)}`;
    await putFile(
      workspace,
      'long.mjs',
      `import { spawn } from 'node:child_process'; for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => {}); spawn('setsid', ['-f', 'sleep', '${mark}']); setInterval(() => {}, 1000);`,
    );
    const script = fileURLToPath(new URL('../testing/run-process.ts', import.meta.url));
    const spec = { settings: fixture.settings, workspace, argv: ['node', 'long.mjs'] };
    const worker = spawn(process.execPath, [script, JSON.stringify(spec)], { stdio: ['ignore', 'ignore', 'inherit'] });
    await waitUntil(() => processesThatAre(`sleep ${mark}`).length > 0, 20_000);
    const { flock = '' } = fixture.settings.programs;
    const take = (waitMs: number) =>
      lockWorkspace({
        directory: fixture.settings.layout.locks,
        name: workspace.lock,
        flock,
        waitMs,
        signal: new AbortController().signal,
      });
    await expect(take(50)).rejects.toMatchObject({ type: 'workspace_busy' });
    const taken = take(10_000);
    worker.kill('SIGKILL');
    const lock = await taken;
    // The kernel closes the descriptor of process 1 a moment before it ends the others.
    await waitUntil(() => processesWith(mark).length === 0, 1_000);
    await lock.release();
  }, 40_000);
});
