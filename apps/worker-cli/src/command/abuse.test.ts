import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArtifactMemory } from '../testing/artifact-memory.ts';
import { type CallOptions, callTool, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { processesWith } from '../testing/host-processes.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

const MIB = 1024 ** 2;

interface Data {
  exit_code: number | null;
  limit: string | null;
  limits_hit: Record<string, number>;
  survivors: number;
  survivors_counted_by: string;
  duration_ms: number;
  cpu_ms: number | null;
  max_memory_bytes: number | null;
  stdout: {
    text: string;
    bytes: number;
    lines: number;
    artifact?: string;
    artifact_missing?: string;
    binary?: boolean;
    invalid_utf8?: boolean;
    dropped_bytes?: number;
    colours_removed?: boolean;
  };
  stderr: { text: string; bytes: number };
  files_changed: { total: number };
}

const marker = (): string => `7${String(Math.random()).slice(2, 11)}`;

describe('CL-4, CL-6: commands that misbehave', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture({
      commands: {
        memoryBytes: 256 * MIB,
        processes: 64,
        cpuMs: 3_000,
        fileBytes: 64 * MIB,
        tmpBytes: 16 * MIB,
        workspaceBytes: 48 * MIB,
        outputBytes: 4_000_000_000,
        stallMs: 700,
      },
    });
    workspace = await makeWorkspace(fixture);
  });
  afterAll(() => fixture.remove());

  const call = async (argv: string[], args: Record<string, unknown> = {}, more: CallOptions = {}) => {
    const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv, ...args }, more);
    return { outcome, data: outcome.data as unknown as Data };
  };
  const script = async (source: string, args: Record<string, unknown> = {}, more: CallOptions = {}) => {
    await putFile(workspace, 'main.mjs', source);
    return call(['node', 'main.mjs'], args, more);
  };
  const shell = (line: string, args: Record<string, unknown> = {}) =>
    script(
      `import { spawnSync } from 'node:child_process';
const end = spawnSync('/bin/bash', ['-c', ${JSON.stringify(line)}], { stdio: 'inherit' });
process.exit(end.status ?? 99);`,
      args,
    );

  it('ignores SIGTERM', async () => {
    const { outcome, data } = await shell("trap '' TERM INT HUP; while :; do sleep 1; done", { timeout_ms: 500 });
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'limit_reached' }, sideEffect: 'none' });
    expect(data).toMatchObject({ limit: 'wall_time', survivors: 0, survivors_counted_by: 'cgroup' });
  });

  it('forks twice into a session of its own, and leaves', async () => {
    const mark = marker();
    const { data } = await shell(
      `setsid -f sleep ${mark}; (set -m; nohup sleep ${mark} >/dev/null & ); (env -i setsid sleep ${mark} &) ; exit 0`,
    );
    expect(data).toMatchObject({ exit_code: 0, survivors: 0 });
    expect(processesWith(`sleep ${mark}`)).toEqual([]);
  });

  it('keeps the output open after its exit', async () => {
    const mark = marker();
    const { data } = await shell(`echo begun; sleep ${mark} & exit 3`);
    expect(data).toMatchObject({ exit_code: 3, survivors: 0, stdout: { text: 'begun\n' } });
    expect(processesWith(`sleep ${mark}`)).toEqual([]);
  });

  it('stops itself', async () => {
    const { data } = await script("process.kill(process.pid, 'SIGSTOP'); console.log('on');", { timeout_ms: 700 });
    expect(data).toMatchObject({ limit: 'wall_time', survivors: 0, stdout: { text: '' } });
  });

  it('forks a storm: refused by count, and gone', async () => {
    const { data } = await shell('f() { f | f & }; f; sleep 1; exit 7', { timeout_ms: 5_000 });
    expect(data.limits_hit['processes']).toBeGreaterThan(0);
    expect(data.survivors).toBe(0);
  });

  it('allocates without end: the counter of the kernel says memory, not the exit code', async () => {
    const { outcome, data } = await script('const all = []; for (;;) all.push(Buffer.alloc(8 * 1024 * 1024, 1));');
    expect(data).toMatchObject({ limit: 'memory', survivors: 0 });
    expect(data.limits_hit['memory']).toBeGreaterThan(0);
    expect(data.max_memory_bytes).toBeLessThanOrEqual(256 * MIB);
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'limit_reached' } });
    const killed = await script("process.kill(process.pid, 'SIGKILL');");
    expect(killed.data).toMatchObject({ exit_code: 137, limit: null });
    expect(killed.outcome.error).toBeUndefined();
  });

  it('counts for ever: the processor time of all processes together', async () => {
    const { data } = await shell('while :; do :; done & while :; do :; done', { timeout_ms: 20_000 });
    expect(data).toMatchObject({ limit: 'cpu_time', survivors: 0 });
    expect(data.cpu_ms).toBeGreaterThan(2_900);
  });

  it('fills its disk: one file, many files, and the private /tmp', async () => {
    const one = await shell('head -c 200000000 /dev/zero > big.bin');
    expect(statSync(join(workspace.root, 'big.bin')).size).toBeLessThanOrEqual(64 * MIB);
    expect(one.data).toMatchObject({ limit: 'disk', survivors: 0 });
    expect(one.outcome).toMatchObject({ status: 'error', sideEffect: 'confirmed' });
    expect(await callTool(fixture.driver, 'process.run', workspace, { argv: ['true'] })).toMatchObject({
      status: 'error',
      error: { type: 'workspace_full' },
      sideEffect: 'none',
    });
    expect((await call(['rm', 'big.bin'])).outcome.status).toBe('ok');
    const many = await shell('for i in $(seq 1 4000); do head -c 1000000 /dev/zero > f$i; done', {
      timeout_ms: 20_000,
    });
    expect(many.data).toMatchObject({ limit: 'disk', survivors: 0 });
    const left = readdirSync(workspace.root).filter((name) => /^f\d+$/.test(name));
    expect(left.length).toBeLessThan(4_000);
    expect((await call(['rm', ...left.slice(0, 99)])).outcome.status).toBe('ok');
    for (let at = 99; at < left.length; at += 99) await call(['rm', ...left.slice(at, at + 99)]);
    const temporary = await shell('head -c 100000000 /dev/zero > /tmp/big; ls -l /tmp/big | cut -d" " -f5');
    expect(Number(temporary.data.stdout.text)).toBeLessThanOrEqual(16 * MIB);
  });

  it.each([
    ['under names that are no text', String.raw`d=$(printf 'hidden\377'); mkdir "$d"; cd "$d"`],
    ['deep down', 'mkdir hidden; cd hidden; for i in $(seq 1 80); do mkdir d; cd d; done'],
    ['deeper than can be counted', 'mkdir hidden; cd hidden; for i in $(seq 1 210); do mkdir d; cd d; done'],
  ])('fills its disk %s', async (_, go) => {
    const { data } = await shell(`${go}; for i in $(seq 1 4000); do head -c 1000000 /dev/zero > f$i; done`, {
      timeout_ms: 20_000,
    });
    expect(data).toMatchObject({ limit: 'disk', survivors: 0 });
    expect((await shell('true')).outcome).toMatchObject({ error: { type: 'workspace_full' } });
    execFileSync('bash', ['-c', 'rm -rf hidden*'], { cwd: workspace.root });
    expect((await shell('true')).outcome).toMatchObject({ status: 'ok' });
  });

  it('goes past the output cap: process.run ends the program, and says so', async () => {
    const small = await makeFixture({ commands: { outputBytes: 2 * MIB } });
    const place = await makeWorkspace(small);
    await putFile(place, 'yes.mjs', "import fs from 'node:fs'; for (;;) fs.writeSync(1, 'y\\n'.repeat(10000));");
    const artifacts = new ArtifactMemory();
    const outcome = await callTool(small.driver, 'process.run', place, { argv: ['node', 'yes.mjs'] }, { artifacts });
    const data = outcome.data as unknown as Data;
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'limit_reached' } });
    expect(data).toMatchObject({ limit: 'output', survivors: 0 });
    expect(artifacts.named('stdout')?.size).toBe(2 * MIB);
    expect(data.stdout.bytes).toBe(2 * MIB + (data.stdout.dropped_bytes ?? 0));
    await small.remove();
  });

  it('RS-4: with the artifact store away, or taking nothing, the run ends with an honest result', async () => {
    const noisy = "import fs from 'node:fs'; for (let i = 0; i < 400; i++) fs.writeSync(1, 'z'.repeat(9999) + '\\n');";
    for (const state of ['away', 'stuck'] as const) {
      const artifacts = new ArtifactMemory();
      artifacts[state] = true;
      const { outcome, data } = await script(noisy, {}, { artifacts });
      expect(outcome.status).toBe('ok');
      expect(outcome.artifacts).toBeUndefined();
      expect(data.stdout.artifact_missing).toMatch(/artifact store/);
      expect(outcome.truncation).toContainEqual(expect.objectContaining({ stream: 'stdout', total: 4_000_000 }));
    }
    const none = await script(noisy);
    expect(none.data.stdout.artifact_missing).toBe('this call may store no artifact');
  });

  it('RE-5: writes the log of a background call while it runs', async () => {
    const artifacts = new ArtifactMemory();
    const { outcome, data } = await script(
      "console.log('out'); console.error('err');",
      {},
      { artifacts, background: true },
    );
    const log = artifacts.named('log');
    expect(log?.state).toBe('complete');
    expect(log?.bytes.toString().split('\n').sort().join(' ').trim()).toBe('err out');
    expect(outcome.artifacts).toContain(log?.id);
    expect(data).toMatchObject({ log: { artifact: log?.id, lost_bytes: 0 } });
    artifacts.away = true;
    const away = await script("console.log('out');", {}, { artifacts, background: true });
    expect(away.outcome.status).toBe('ok');
  });

  it('RE-4: a cancel ends the whole tree, and its answer says what had changed', async () => {
    const mark = marker();
    const abort = new AbortController();
    const running = script(
      `import fs from 'node:fs'; import { spawn } from 'node:child_process'; fs.writeFileSync('made.txt', 'x'); spawn('setsid', ['-f', 'sleep', '${mark}']); setInterval(() => {}, 1000);`,
      {},
      { signal: abort.signal },
    );
    while (processesWith(`sleep ${mark}`).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    abort.abort();
    const { outcome, data } = await running;
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'cancelled' }, sideEffect: 'confirmed' });
    expect(data.survivors).toBe(0);
    expect(processesWith(`sleep ${mark}`)).toEqual([]);
  });

  it('leaves no control group behind', async () => {
    await call(['true']);
    await fixture.driver.drain();
    const groups = () => readFileSync('/proc/self/cgroup', 'utf8');
    expect(groups()).not.toContain('toolfabric');
    const base = '/sys/fs/cgroup/pids';
    if (!existsSync(base)) return;
    const own = readdirSync(base).filter((name) => name.startsWith(`toolfabric-${process.pid}-`));
    for (const name of own) {
      const left = () => readdirSync(join(base, name), { withFileTypes: true }).filter((entry) => entry.isDirectory());
      for (let step = 0; step < 100 && left().length > 0; step += 1)
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect(left()).toEqual([]);
    }
  });
});
