import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, isRoot, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { processesWith } from '../testing/host-processes.ts';
import { waitUntil } from '../testing/wait-until.ts';
import { lockWorkspace } from '../workspace/workspace-lock.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import type { Confinement } from './confinement.ts';
import { type ConfinedRequest, runConfined } from './run-confined.ts';
import { seccompFilter } from './seccomp/filter.ts';

const MIB = 1024 ** 2;

/** Where the groups of this process are made, in version 1. */
const placesOfGroups = (): string[] =>
  ['memory', 'pids', 'cpuacct'].map((controller) => {
    const path = new RegExp(`:${controller}:(.*)`).exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '';
    const own = join('/sys/fs/cgroup', controller, path);
    return existsSync(own) ? own : join('/sys/fs/cgroup', controller);
  });
const marker = (): string => `7${String(Math.random()).slice(2, 11)}`;

describe('confined command', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture({ commands: { memoryBytes: 256 * MIB, processes: 48, cpuMs: 20_000 } });
    workspace = await makeWorkspace(fixture);
  });
  afterAll(() => fixture.remove());

  const run = async (line: string, more: Partial<ConfinedRequest> = {}, changed: Partial<Confinement> = {}) => {
    let output = '';
    const { confinement } = fixture.driver.commands;
    const end = await runConfined(
      { ...confinement, ...changed },
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
        ...more,
      },
    );
    return { ...end, output };
  };

  it('begins only when its worker says so, and not at all when that fails', async () => {
    const order: string[] = [];
    const end = await run('echo ran', {
      ready: async () => {
        order.push('ready');
        await new Promise((resolve) => setTimeout(resolve, 50));
      },
      onOutput: (chunk) => {
        order.push(chunk.toString().trim());
        return 'more';
      },
    });
    expect(order).toEqual(['ready', 'ran']);
    expect(end).toMatchObject({ code: 0, ending: 'exited', survivors: 0 });
    const refused = run('echo ran > /workspace/never', {
      ready: async () => {
        throw new Error('no');
      },
    });
    await expect(refused).rejects.toThrow('no');
    expect((await run('ls /workspace')).output).not.toContain('never');
  });

  it('holds the lock of its workspace until the last process is gone, also when the worker lets go of it', async () => {
    const { flock = '' } = fixture.settings.programs;
    const request = {
      directory: fixture.settings.layout.locks,
      name: 'own',
      flock,
      signal: new AbortController().signal,
    };
    const lock = await lockWorkspace({ ...request, waitMs: 1_000 });
    let begun = () => {};
    const began = new Promise<void>((resolve) => (begun = resolve));
    const running = run('echo on; sleep 0.6', {
      lock: lock.forRun(),
      onOutput: () => {
        begun();
        return 'more';
      },
    });
    await began;
    await lock.release();
    await expect(lockWorkspace({ ...request, waitMs: 50 })).rejects.toMatchObject({ type: 'workspace_busy' });
    await running;
    await (await lockWorkspace({ ...request, waitMs: 2_000 })).release();
  });

  it('RE-4: kill -9 of the worker ends everything, at every moment of the start', async () => {
    const script = fileURLToPath(new URL('../testing/hold-command.ts', import.meta.url));
    for (const afterMs of [0, 30, 150]) {
      const mark = marker();
      const spec = { settings: fixture.settings, workspace, mark };
      const worker = spawn(process.execPath, [script, JSON.stringify(spec)], { stdio: 'ignore' });
      await waitUntil(() => processesWith(mark).length > 1 || worker.exitCode !== null, 20_000);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      worker.kill('SIGKILL');
      await waitUntil(() => processesWith(mark).length === 0, 5_000);
    }
  }, 60_000);

  describe('without control groups', () => {
    const none = { groups: undefined, noGroupsReason: 'none' };

    it('counts survivors by the PID namespace, and has a limit for each process', async () => {
      const mark = marker();
      const end = await run(`setsid -f sleep ${mark}; (sleep ${mark} &); exit 4`, {}, none);
      expect(end).toMatchObject({ code: 4, survivors: 0, countedBy: 'pid_namespace', cpuMs: undefined });
      expect(processesWith(`sleep ${mark}`)).toEqual([]);
      const memory = await run('head -c 400000000 /dev/zero | tail | wc -c', {}, none);
      expect(memory.errors).toMatch(/exhausted|allocate|memory/);
      expect(memory.limits.size).toBe(0);
      expect((await run('ulimit -t; ulimit -u; ulimit -c', {}, none)).output).toBe('20\n48\n0\n');
    });

    it('and without prlimit: refused', async () => {
      const programs = { ...fixture.settings.programs, prlimit: undefined };
      await expect(run('true', {}, { ...none, programs })).rejects.toMatchObject({ type: 'sandbox_unavailable' });
    });
  });

  it('CL-4: nothing but the workspace, /tmp and /dev/shm can be written, and those have a size', async () => {
    const { output } = await run(
      'for d in / /dev /etc /usr /proc /dev/shm /tmp /tmp/home /workspace; do (: > "$d/probe") 2>/dev/null && echo "$d"; done; df --output=size -BM /dev/shm /tmp | tail -2 | sort -u',
    );
    const megabytes = fixture.driver.commands.confinement.limits.tmpBytes / MIB;
    expect(output.split('\n').map((line) => line.trim())).toEqual([
      ...['/dev/shm', '/tmp', '/tmp/home', '/workspace'],
      `${megabytes}M`,
      '',
    ]);
  });

  it('never as root', async () => {
    await expect(run('true', { user: { uid: 0, gid: 0 } })).rejects.toMatchObject({ type: 'sandbox_unavailable' });
  });

  it('a bind that cannot be made, a directory that is not there, a program that is not there', async () => {
    const binds = [{ source: join(fixture.base, 'gone'), target: '/workspace', writable: false }];
    await expect(run('true', { binds })).rejects.toMatchObject({ type: 'sandbox_unavailable' });
    await expect(run('true', { cwd: '/nowhere' })).rejects.toMatchObject({ type: 'sandbox_unavailable' });
    expect(await run('', { command: ['/usr/bin/nothing-here'] }).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 127,
    });
  });

  it('what a program says on standard error cannot make it look as if it never ran', async () => {
    const end = await run('echo "bwrap: Creating new namespace failed" >&2; exit 1');
    expect(end).toMatchObject({ code: 1, ending: 'exited' });
  });

  it('the program has the three standard descriptors, and standard input is empty', async () => {
    const { output } = await run(
      'cat; for f in /proc/self/fd/{3..12}; do [ -e $f ] && echo open $f; done; readlink /proc/self/fd/0',
    );
    expect(output).toBe('/dev/null\n');
  });

  it('an abort before the program begins, and after', async () => {
    const early = new AbortController();
    early.abort();
    await expect(run('true', { signal: early.signal })).rejects.toMatchObject({ type: 'cancelled' });
    const abort = new AbortController();
    const end = await run('echo on; sleep 20', {
      signal: abort.signal,
      onOutput: () => {
        abort.abort();
        return 'more';
      },
    });
    expect(end).toMatchObject({ ending: 'aborted', survivors: 0 });
  });

  if (isRoot) {
    it('leaves no dead process to a worker that is process 1 of its container', () => {
      const script = fileURLToPath(new URL('../testing/process-one.ts', import.meta.url));
      const said = execFileSync('unshare', ['--pid', '--fork', '--mount-proc', process.execPath, script], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      expect(JSON.parse(said)).toEqual({ pid: 1, zombies: 0, limit: 'wall_time' });
    });

    it('a worker of another container takes no control group away; one that is gone is made again', async () => {
      const places = placesOfGroups();
      const own = () =>
        places.map((at) => readdirSync(at).filter((name) => name.startsWith(`toolfabric-${process.pid}-`)));
      if (fixture.driver.commands.confinement.groups?.version !== 1) return;
      const before = own();
      expect(before.every((names) => names.length > 0)).toBe(true);
      const sweep = 'await (await import(process.argv[1])).findGroups()?.groups?.close()';
      const file = fileURLToPath(new URL('./cgroup/find-groups.ts', import.meta.url));
      const args = ['--pid', '--fork', '--mount-proc', process.execPath, '--input-type=module', '-e', sweep, file];
      execFileSync('unshare', args, { stdio: ['ignore', 'ignore', 'inherit'] });
      expect(own()).toEqual(before);
      const gone = (path: string) => {
        try {
          rmdirSync(path);
          return true;
        } catch (thrown) {
          // The groups of commands that have ended are still being removed.
          if ((thrown as NodeJS.ErrnoException).code !== 'EBUSY') throw thrown;
          return false;
        }
      };
      for (const [index, at] of places.entries()) {
        for (const name of before[index] ?? []) await waitUntil(() => gone(join(at, name)));
      }
      expect(await run('true')).toMatchObject({ code: 0, survivors: 0, countedBy: 'cgroup' });
    });

    it('a reader who has enough ends it', async () => {
      const end = await run('yes', { onOutput: () => 'enough' });
      expect(end).toMatchObject({ ending: 'enough', survivors: 0 });
    });
  }
});

describe('filter for system calls', () => {
  it('is a program of whole instructions, for known architectures only', () => {
    for (const architecture of ['x64', 'arm64']) {
      const filter = seccompFilter(architecture) as Buffer;
      expect(filter.length % 8).toBe(0);
      // Every jump stays inside.
      for (let at = 0; at < filter.length; at += 8) {
        const [code, jt, jf] = [filter.readUInt16LE(at), filter[at + 2] ?? 0, filter[at + 3] ?? 0];
        if ((code & 7) === 5) expect(at / 8 + 1 + Math.max(jt, jf)).toBeLessThan(filter.length / 8);
      }
    }
    expect(seccompFilter('riscv64')).toBeUndefined();
  });
});
