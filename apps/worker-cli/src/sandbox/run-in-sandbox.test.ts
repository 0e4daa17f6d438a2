import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, isRoot, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { processesThatAre, processesWith } from '../testing/host-processes.ts';
import { waitUntil } from '../testing/wait-until.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import { runInSandbox, type SandboxRequest } from './run-in-sandbox.ts';

const NAMES = ['ipc', 'mnt', 'net', 'pid', 'user', 'uts'];

/** A root worker has two ways into a sandbox, by whether its user can pass the directories above the workspace. */
describe.each([
  ['reachable state directory', true],
  ['state directory that its user cannot pass', false],
])('sandbox, %s', (_, reachable) => {
  let fixture: Fixture;
  let own: WorkspaceRecord;
  let other: WorkspaceRecord;

  beforeAll(async () => {
    fixture = await makeFixture({ reachable });
    own = await makeWorkspace(fixture);
    other = await makeWorkspace(fixture);
    writeFileSync(join(own.root, 'mine.txt'), 'mine');
    writeFileSync(join(other.root, 'secret.txt'), 'CANARY-OTHER');
    for (const file of [join(own.root, 'mine.txt'), join(other.root, 'secret.txt')]) chmodSync(file, 0o644);
  });
  afterAll(() => fixture.remove());

  const inside = async (script: string, more: Partial<SandboxRequest> = {}) => {
    let output = '';
    const end = await runInSandbox(fixture.settings.programs, {
      command: ['/usr/bin/bash', '-c', script],
      binds: [{ source: own.root, target: '/workspace', writable: false }],
      cwd: '/workspace',
      limits: { memoryBytes: 512 * 1024 ** 2, fileBytes: 1024 ** 2 },
      user: own.child,
      onOutput: (chunk) => {
        output += chunk.toString();
        return 'more';
      },
      timeMs: 20_000,
      signal: new AbortController().signal,
      ...more,
    });
    return { ...end, output };
  };

  it('CL-6: has the workspace and a read-only system, and nothing else of the host', async () => {
    const { output } = await inside(
      'cat mine.txt; echo; ls -A /; ls -A /etc /home /root /var /srv /reach 2>&1 | cat; ls -A /tmp',
    );
    expect(output.split('\n')[0]).toBe('mine');
    expect(output).not.toMatch(/passwd|shadow|hostname/);
    const top = output.split('\n').slice(
      1,
      output.split('\n').findIndex((line) => line.includes('cannot access')),
    );
    expect(top.sort()).toEqual(expect.arrayContaining(['dev', 'proc', 'tmp', 'usr', 'workspace']));
    expect(
      top.filter(
        (name) =>
          !['bin', 'dev', 'lib', 'lib32', 'lib64', 'libx32', 'proc', 'sbin', 'tmp', 'usr', 'workspace'].includes(name),
      ),
    ).toEqual([]);
  });

  it('CL-6: cannot write to the workspace, the system or the host, and cannot see another workspace', async () => {
    const { output } = await inside(
      `for f in /workspace/x /usr/x /x/y ${other.root}/x; do (echo bad > $f) 2>/dev/null && echo wrote $f; done; cat ${other.root}/secret.txt ${own.root}/../*/secret.txt 2>&1; find / -name secret.txt 2>/dev/null; echo end`,
    );
    expect(output).not.toContain('wrote');
    expect(output).not.toContain('CANARY-OTHER');
    expect(output.trim().endsWith('end')).toBe(true);
    expect(existsSync(join(own.root, 'x'))).toBe(false);
  });

  it('CL-6: has no network: a server of the host is out of reach', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    let connections = 0;
    server.on('connection', (socket) => {
      connections += 1;
      socket.destroy();
    });
    const { output } = await inside(
      `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1 && echo connected; cat /proc/net/dev | grep -c :`,
    );
    expect(output).not.toContain('connected');
    expect(output.trim().split('\n').at(-1)).toBe('1');
    expect(connections).toBe(0);
    server.close();
  });

  it('CL-6: has namespaces of its own, no capability, no way to more, and is not root', async () => {
    const { output } = await inside(
      `readlink ${NAMES.map((name) => `/proc/self/ns/${name}`).join(' ')}; id -u; id -G; grep -E '^(Cap|NoNew)' /proc/self/status`,
    );
    const lines = output.trim().split('\n');
    for (const [index, name] of NAMES.entries()) {
      expect(lines[index]).toMatch(new RegExp(`^${name}:\\[\\d+\\]$`));
      expect(lines[index]).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
    }
    expect(lines[NAMES.length]).not.toBe('0');
    expect(output).toMatch(/CapEff:\s+0{16}/);
    expect(output).toMatch(/CapBnd:\s+0{16}/);
    expect(output).toMatch(/NoNewPrivs:\s+1/);
  });

  it('CL-6: sees no process of the host', async () => {
    const { output } = await inside('ls /proc | grep -E "^[0-9]+$" | wc -l; cat /proc/*/cmdline | tr "\\0" " "');
    expect(Number(output.split('\n')[0])).toBeLessThan(12);
    expect(output).not.toContain('vitest');
  });

  it('CL-1: has a small environment that names nothing of the host', async () => {
    const { output } = await inside('env | sort | cut -d= -f1 | tr "\\n" " "');
    expect(
      output
        .trim()
        .split(' ')
        .filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)),
    ).toEqual(['HOME', 'LANG', 'LC_ALL', 'PATH', 'TZ']);
  });

  it('CL-6: is capped in memory and in what it writes', async () => {
    const memory = await inside('head -c 900000000 /dev/zero | tail | wc -c');
    expect(memory.stderr).toMatch(/exhausted|allocate|memory/);
    const { output } = await inside('head -c 3000000 /dev/zero > /tmp/big 2>/dev/null; wc -c < /tmp/big');
    expect(Number(output)).toBeLessThanOrEqual(1024 ** 2);
  });

  it('CL-4: nothing survives a timeout, whatever it does to get away', async () => {
    const marker = `7${String(Math.random()).slice(2, 11)}`;
    const script = `setsid -f sleep ${marker}; (set -m; nohup sleep ${marker} & ) ; env -i sleep ${marker} & trap "" TERM; sleep ${marker}`;
    const end = await inside(script, { timeMs: 700 });
    expect(end).toMatchObject({ ending: 'timeout', outputMayContinue: false });
    await waitUntil(() => processesWith(`sleep ${marker}`).length === 0);
  });

  it('CL-4: nothing survives an early end of its own', async () => {
    const marker = `7${String(Math.random()).slice(2, 11)}`;
    await inside(`setsid -f sleep ${marker}; exit 0`);
    await waitUntil(() => processesWith(`sleep ${marker}`).length === 0);
  });

  it('RE-4: nothing survives the death of the worker', async () => {
    const marker = `7${String(Math.random()).slice(2, 11)}`;
    const script = fileURLToPath(new URL('../testing/hold-sandbox.ts', import.meta.url));
    const spec = { programs: fixture.settings.programs, root: own.root, user: own.child, marker };
    const worker = spawn(process.execPath, [script, JSON.stringify(spec)], { stdio: 'ignore' });
    await waitUntil(() => processesThatAre(`sleep ${marker}`).length > 0);
    worker.kill('SIGKILL');
    await waitUntil(() => processesWith(marker).length === 0);
  });

  it('CL-4: a worker that dies while the sandbox is made leaves nothing that outlives the time limit', async () => {
    const script = fileURLToPath(new URL('../testing/hold-sandbox.ts', import.meta.url));
    for (let round = 0; round < 4; round += 1) {
      const marker = `7${String(Math.random()).slice(2, 11)}`;
      const spec = { programs: fixture.settings.programs, root: own.root, user: own.child, marker, timeMs: 200 };
      const worker = spawn(process.execPath, [script, JSON.stringify(spec)], { stdio: 'ignore' });
      await waitUntil(() => processesWith(marker).length > 1);
      worker.kill('SIGKILL');
      await waitUntil(() => processesWith(marker).length === 0, 4_000);
    }
  });

  if (isRoot) {
    it('CL-6: outside it is not root either: what it writes belongs to the user of the workspace', async () => {
      const binds = [{ source: own.root, target: '/workspace', writable: true }];
      await inside('touch /workspace/made', { binds });
      expect(statSync(join(own.root, 'made')).uid).toBe(own.child?.uid);
      expect(own.child?.uid).not.toBe(0);
    });
  }
});

describe('sandbox that cannot be had', () => {
  it.each(['bwrap', 'prlimit'])('without %s on the PATH: sandbox_unavailable, and nothing runs', async (missing) => {
    const fixture = await makeFixture();
    const programs = { ...fixture.settings.programs, [missing]: undefined };
    const request: SandboxRequest = {
      command: ['/usr/bin/touch', join(fixture.base, 'ran')],
      binds: [],
      cwd: '/',
      limits: { memoryBytes: 1024 ** 3, fileBytes: 0 },
      user: isRoot ? { uid: 65_534, gid: 65_534 } : undefined,
      timeMs: 5_000,
      signal: new AbortController().signal,
    };
    await expect(runInSandbox(programs, request)).rejects.toMatchObject({ type: 'sandbox_unavailable' });
    const broken = { ...fixture.settings.programs, bwrap: '/nonexistent/bwrap' };
    await expect(runInSandbox(broken, request)).rejects.toMatchObject({ type: 'sandbox_unavailable' });
    const asRoot = { ...request, user: { uid: 0, gid: 0 } };
    await expect(runInSandbox(fixture.settings.programs, asRoot)).rejects.toMatchObject({
      type: 'sandbox_unavailable',
    });
    expect(existsSync(join(fixture.base, 'ran'))).toBe(false);
    await fixture.remove();
  });

  it('a source that bubblewrap cannot bind is sandbox_unavailable too', async () => {
    const fixture = await makeFixture();
    mkdirSync(join(fixture.base, 'gone'));
    const request: SandboxRequest = {
      command: ['/usr/bin/true'],
      binds: [{ source: join(fixture.base, 'gone', 'missing'), target: '/workspace', writable: false }],
      cwd: '/',
      limits: { memoryBytes: 1024 ** 3, fileBytes: 0 },
      user: isRoot ? { uid: 65_534, gid: 65_534 } : undefined,
      timeMs: 5_000,
      signal: new AbortController().signal,
    };
    await expect(runInSandbox(fixture.settings.programs, request)).rejects.toMatchObject({
      type: 'sandbox_unavailable',
    });
    await fixture.remove();
  });
});
