import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callTool, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { processesThatAre, processesWith } from '../testing/host-processes.ts';
import { putFile } from '../testing/put-file.ts';
import { waitUntil } from '../testing/wait-until.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import { type ConfinedRequest, runConfined } from './run-confined.ts';
import { STANDING_BOUNDS, StandingSandboxes } from './standing-sandboxes.ts';

describe('sandboxes that stand', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeEach(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
  });
  afterEach(() => fixture.remove());

  const standing = () => fixture.driver.commands.confinement.standing;
  const stands = (count = 2) => waitUntil(() => standing().count(workspace.id) === count);
  const processes = () => processesWith(workspace.root);
  /** The programs that sleep, without the sandboxes around them. */
  const programs = () => processesThatAre('/usr/bin/sleep -- 24.25');
  const parentOf = (pid: string) => /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  const run = (argv: string[], more = {}) => callTool(fixture.driver, 'process.run', workspace, { argv }, more);
  const script = async (source: string) => {
    await putFile(workspace, 'main.mjs', source);
    const outcome = await run(['node', 'main.mjs']);
    return (outcome.data as unknown as { stdout: { text: string } }).stdout.text;
  };
  /** Without the ledger: what is run, and for which place. */
  const confined = async (line: string, more: Partial<ConfinedRequest> = {}, pool = standing()) => {
    const { confinement } = fixture.driver.commands;
    let output = '';
    const end = await runConfined(
      { ...confinement, standing: pool },
      {
        command: ['/usr/bin/bash', '-c', line],
        binds: [
          { source: confinement.etc, target: '/etc', writable: false },
          { source: workspace.root, target: '/workspace', writable: true },
        ],
        cwd: '/workspace',
        user: workspace.child,
        timeMs: 10_000,
        signal: new AbortController().signal,
        onOutput: (chunk) => {
          output += chunk.toString();
          return 'more';
        },
        place: 'here',
        ...more,
      },
    );
    return { ...end, output };
  };

  it('serve one command each: the next finds nothing of it, and its own words, variables and directory', async () => {
    mkdirSync(join(workspace.root, 'sub'));
    const first = await confined('echo x > /tmp/left; echo $$; (setsid sleep 60 &) ; echo $WHO', {
      env: { WHO: 'one' },
    });
    expect(first).toMatchObject({ code: 0, survivors: 0 });
    await waitUntil(() => standing().count('here') > 0);
    const before = standing().count('here');
    const second = await confined('ls /tmp; pwd; echo "$WHO:$OLDPWD"; ls -d /proc/[0-9]* | wc -l', {
      cwd: '/workspace/sub',
    });
    expect(second.output).toMatch(/^home\n\/workspace\/sub\n:\n[34]\n$/);
    expect(standing().count('here')).toBeLessThan(before + 1);
    expect(second).toMatchObject({ survivors: 0, countedBy: first.countedBy });
    expect((await confined('true', { cwd: '/nowhere' }).catch((thrown) => thrown)).type).toBe('sandbox_unavailable');
  });

  it('are taken, not made: the process of the next command is there before it', async () => {
    await run(['true']);
    await stands();
    await run(['true']);
    const before = processesWith('');
    const abort = new AbortController();
    const running = run(['sleep', '24.25'], { signal: abort.signal });
    await waitUntil(() => programs().length > 0);
    expect(before).toContain(parentOf(programs()[0] ?? ''));
    abort.abort();
    await running;
  });

  it('CL-6: a repository that appeared meanwhile is read-only to the next command', async () => {
    await run(['true']);
    await stands();
    mkdirSync(join(workspace.root, '.git/hooks'), { recursive: true, mode: 0o777 });
    const said = await script(
      "import fs from 'node:fs'; try { fs.writeFileSync('.git/config', 'x'); console.log('wrote'); } catch (e) { console.log(e.code); }",
    );
    expect(said).toBe('EROFS\n');
  });

  it('CL-6: another directory in place of the workspace is never shown the old one, nor the other way round', async () => {
    await confined('true');
    await waitUntil(() => standing().count('here') === 2);
    renameSync(workspace.root, `${workspace.root}-old`);
    mkdirSync(workspace.root, { mode: 0o755 });
    writeFileSync(join(workspace.root, 'new.txt'), 'new');
    expect((await confined('ls')).output).toBe('new.txt\n');
  });

  it('one that was killed while it stood is not noticed by the next command', async () => {
    await run(['true']);
    await stands();
    for (const pid of processes()) process.kill(Number(pid), 'SIGKILL');
    expect(await run(['true'])).toMatchObject({ status: 'ok', data: { exit_code: 0, survivors: 0 } });
  });

  it('are not made after a command that hit a limit', async () => {
    const end = await confined('sleep 20', { timeMs: 200 });
    expect([...end.limits.keys()]).toEqual(['wall_time']);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(standing().count('here')).toBe(0);
  });

  it('are bounded: by worker, by age, by room', async () => {
    const bounds = { ...STANDING_BOUNDS, most: 2, mostOfPlace: 1 };
    const few = new StandingSandboxes(() => true, bounds);
    for (const place of ['a', 'b', 'c']) {
      await confined('true', { place }, few);
      await waitUntil(() => few.count(place) === 1);
    }
    expect(['a', 'b', 'c'].map((place) => few.count(place))).toEqual([0, 1, 1]);
    await few.close();
    await waitUntil(() => processes().length === 0);
    const young = new StandingSandboxes(() => true, { ...bounds, ageMs: 300 });
    await confined('true', {}, young);
    await waitUntil(() => young.count('here') === 1);
    await waitUntil(() => young.count('here') === 0 && processes().length === 0);
    let asked = 0;
    const full = new StandingSandboxes(() => {
      asked += 1;
      return false;
    }, bounds);
    await confined('true', {}, full);
    await waitUntil(() => asked > 0);
    expect(full.count('here')).toBe(0);
    await full.close();
    await young.close();
  });

  it('are counted: each that was made is used, or thrown away for one reason', async () => {
    const counts: Record<string, number> = {};
    const bounds = { ...STANDING_BOUNDS, most: 2, mostOfPlace: 1 };
    const pool = new StandingSandboxes(() => true, bounds);
    pool.onOutcome((outcome) => {
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    });
    const lock = join(fixture.settings.layout.locks, 'own.run');
    const made = (count: number) => waitUntil(() => counts['made'] === count);
    for (const [at, place] of ['a', 'b', 'c'].entries()) {
      await confined('true', { place, lock }, pool);
      await made(at + 1);
    }
    await waitUntil(() => counts['crowded'] === 1);
    await confined('true', { place: 'c', lock }, pool);
    await made(4);
    await confined('true', { place: 'c', lock, limits: { processes: 40 } }, pool);
    await waitUntil(() => counts['unfit'] === 1);
    await made(5);
    for (const pid of processes()) process.kill(Number(pid), 'SIGKILL');
    const end = await confined('exit 1', { place: 'b', lock }, pool);
    expect(end).toMatchObject({ code: 1 });
    await pool.close();
    // Whether it is seen to have ended when it is taken, or a moment later, is a race.
    expect((counts['used'] ?? 0) + (counts['ended'] ?? 0)).toBe(2);
    const { made: all = 0, failed = 0, ...left } = counts;
    expect(failed).toBe(0);
    expect(Object.values(left).reduce((sum, one) => sum + one, 0)).toBe(all);
    const young = new StandingSandboxes(() => true, { ...bounds, ageMs: 1_500 });
    const seen: string[] = [];
    young.onOutcome((outcome) => void seen.push(outcome));
    await confined('true', {}, young);
    await waitUntil(() => seen.includes('old'));
    expect(seen.slice(0, 2)).toEqual(['made', 'old']);
    await young.close();
  });

  it('are gone when the worker drains, and no more are made', async () => {
    await run(['true']);
    await stands();
    await fixture.driver.drain();
    expect(processes()).toEqual([]);
    await run(['true']);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(standing().count(workspace.id)).toBe(0);
  });

  it('RE-4: kill -9 of the worker ends them with it', async () => {
    const file = fileURLToPath(new URL('../testing/stand-sandbox.ts', import.meta.url));
    const spec = JSON.stringify({ settings: fixture.settings, workspace });
    const worker = spawn(process.execPath, [file, spec], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => worker.stdout.once('data', resolve));
    expect(processesWith(`${workspace.root} /`).length).toBeGreaterThan(0);
    worker.kill('SIGKILL');
    await waitUntil(() => processes().length === 0);
  }, 30_000);
});
