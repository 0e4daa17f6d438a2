import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createRedactor } from '@toolfabric/results';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArtifactMemory } from '../testing/artifact-memory.ts';
import {
  type CallOptions,
  callTool,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { git, makeRepository } from '../testing/git-repository.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

interface Data {
  exit_code: number | null;
  stdout: { text: string };
  stderr: { text: string };
  files_changed: { total: number; git_files?: number };
}

const hasPython = existsSync('/usr/bin/python3');

/** A root worker has two ways into a sandbox, by whether its user can pass the directories above the workspace. */
describe.each([
  ['reachable state directory', true],
  ['state directory that its user cannot pass', false],
])('CL-6: what a command can reach, %s', (_, reachable) => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  let other: WorkspaceRecord;
  let server: Server;
  let port: number;
  let connections = 0;
  beforeAll(async () => {
    fixture = await makeFixture({ reachable });
    workspace = await makeWorkspace(fixture);
    other = await makeWorkspace(fixture);
    await putFile(other, 'secret.txt', 'CANARY-OTHER');
    writeFileSync(join(fixture.root, 'host.txt'), 'CANARY-HOST', { mode: 0o644 });
    server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    port = (server.address() as { port: number }).port;
  });
  afterAll(async () => {
    server.close();
    await fixture.remove();
  });

  const shell = async (line: string, more: CallOptions = {}) => {
    await putFile(
      workspace,
      'main.mjs',
      `import { spawnSync } from 'node:child_process';
const end = spawnSync('/bin/bash', ['-c', ${JSON.stringify(line)}], { stdio: 'inherit' });
process.exit(end.status ?? 99);`,
    );
    const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv: ['node', 'main.mjs'] }, more);
    return { outcome, ...(outcome.data as unknown as Data) };
  };
  const python = async (source: string) => {
    await putFile(workspace, 'main.py', source);
    const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv: ['python3', 'main.py'] });
    return (outcome.data as unknown as Data).stdout.text;
  };

  it('no host file, no other workspace, nothing of the installation', async () => {
    const { stdout } = await shell(
      `cat ${fixture.root}/host.txt ${other.root}/secret.txt /etc/shadow /etc/hostname /root/.bashrc 2>/dev/null; find / -name 'secret.txt' -o -name 'host.txt' -o -name 'seccomp.bpf' 2>/dev/null; ls -d ${fixture.base} /home /root /var /srv /run /opt /sys /mnt 2>/dev/null; cat /etc/passwd; ls -A / | tr '\\n' ' '`,
    );
    const [passwd = '', top = ''] = stdout.text.trim().split('\n');
    expect(passwd).toBe('worker:x:1000:1000::/tmp/home:/usr/sbin/nologin');
    const known = ['bin', 'dev', 'etc', 'lib', 'lib32', 'lib64', 'libx32', 'proc', 'sbin', 'tmp', 'usr', 'workspace'];
    expect(
      top
        .trim()
        .split(' ')
        .filter((name) => !known.includes(name)),
    ).toEqual([]);
    expect(stdout.text).not.toContain('CANARY');
  });

  it('no network: neither the loopback of the host, nor the outside, nor a name, nor a virtual machine socket', async () => {
    const { stdout } = await shell(
      `for to in 127.0.0.1/${port} 1.1.1.1/53 10.0.0.1/80; do (exec 3<>/dev/tcp/$to) 2>/dev/null && echo connected $to; done; getent hosts example.com && echo resolved; grep -c : /proc/net/dev`,
    );
    expect(stdout.text.trim()).toBe('1');
    expect(connections).toBe(0);
  });

  it('nothing of the host is written: system, /etc, /proc, devices', async () => {
    const { stdout } = await shell(
      `for f in /usr/x /bin/x /etc/x /etc/passwd /x /proc/sys/kernel/hostname /proc/sysrq-trigger /dev/x ${fixture.root}/x; do (echo bad > $f) 2>/dev/null && echo wrote $f; done; ls /dev | tr '\\n' ' '; touch /tmp/mine && echo tmp`,
    );
    // The private directories of the sandbox itself may be writable; the host has none of it.
    expect(stdout.text).not.toMatch(/wrote \/(usr|bin|etc|proc|dev\/x$)/);
    expect(stdout.text).toContain('tmp');
    expect(existsSync(join(fixture.root, 'x'))).toBe(false);
    expect(existsSync('/x')).toBe(false);
    expect(stdout.text).not.toMatch(/\b(vda|sda|mem|kmsg|fuse|kvm|vsock)\b/);
  });

  it('no process of the host, and none of another sandbox', async () => {
    const { stdout } = await shell(
      "ls /proc | grep -cE '^[0-9]+$'; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; cat /proc/[0-9]*/environ | tr '\\0' ' '",
    );
    expect(Number(stdout.text.split('\n')[0])).toBeLessThan(12);
    expect(stdout.text).not.toContain('vitest');
    expect(stdout.text).not.toContain(process.env['HOME'] ?? 'no home');
  });

  it('no capability, no new privileges, a filter for system calls, an environment of its own', async () => {
    const { stdout } = await shell(
      "grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; id -u; env | cut -d= -f1 | sort | tr '\\n' ' '; ulimit -c",
    );
    expect(stdout.text).toMatch(/CapEff:\s+0{16}/);
    expect(stdout.text).toMatch(/CapBnd:\s+0{16}/);
    expect(stdout.text).toMatch(/NoNewPrivs:\s+1/);
    expect(stdout.text).toMatch(/Seccomp:\s+2/);
    expect(stdout.text).toMatch(/\n1000\n/);
    expect(stdout.text).toMatch(/HOME LANG LC_ALL PATH PWD SHLVL TZ _ 0/);
  });

  it.skipIf(!hasPython)('no tracing, no keyring, no mount, no namespace, no foreign socket family', async () => {
    const said = await python(`import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    end = getattr(libc, name)(*args)
    print(name, 'refused' if end == -1 else 'DONE', os.strerror(ctypes.get_errno()))
child = os.fork()
if child == 0:
    import time
    time.sleep(5)
    os._exit(0)
call('ptrace', 16, child, 0, 0)
call('syscall', 248, b'user', b'name', b'value', 5, -3)
call('syscall', 250, 0, -3, 0)
call('syscall', 101, 0, 0, 0, 0)
call('mount', b'none', b'/tmp', b'tmpfs', 0, None)
call('umount2', b'/tmp', 0)
call('unshare', 0x10000000)
call('chroot', b'/tmp')
call('syscall', 321, 0, 0, 0)
call('syscall', 425, 1, 0)
call('setns', 0, 0)
for family in (40, 17, 38, 44):
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print(family, 'DONE')
    except OSError as e:
        print(family, 'refused')
socket.socket(socket.AF_INET, socket.SOCK_STREAM); socket.socket(socket.AF_UNIX)
import threading
t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()
os.kill(child, 9)
`);
    expect(said).not.toContain('DONE');
    expect(said.split('\n').filter((line) => line.includes('refused')).length).toBe(15);
    expect(said).toContain('thread');
  });

  it('the repository is read-only: a hook written now would run later, outside', async () => {
    const source = await makeRepository(join(fixture.root, `source-${reachable}`), { 'a.txt': 'a\n' });
    const clone = await makeWorkspace(fixture, { type: 'clone', path: source });
    await putFile(
      clone,
      'main.mjs',
      `import fs from 'node:fs';
for (const [name, work] of Object.entries({
  hook: () => fs.writeFileSync('.git/hooks/post-checkout', 'x'),
  config: () => fs.appendFileSync('.git/config', '[core] fsmonitor = x'),
  move: () => fs.renameSync('.git', 'old'),
  remove: () => fs.rmSync('.git', { recursive: true }),
  tree: () => fs.writeFileSync('b.txt', 'b'),
})) { try { work(); console.log('did ' + name); } catch { console.log('refused ' + name); } }`,
    );
    const outcome = await callTool(fixture.driver, 'process.run', clone, { argv: ['node', 'main.mjs'] });
    expect((outcome.data as unknown as Data).stdout.text.trim().split('\n')).toEqual([
      'refused hook',
      'refused config',
      'refused move',
      'refused remove',
      'did tree',
    ]);
    expect(outcome.data).not.toHaveProperty('files_changed.git_files');
    if (!isRoot) expect(git(clone.root, 'status', '--porcelain')).toContain('b.txt');
  });

  it('a repository that is made new is told, and shows as an effect', async () => {
    const { outcome, files_changed } = await shell('mkdir -p sub/.git/hooks && echo x > sub/.git/hooks/pre-commit');
    expect(files_changed.git_files).toBe(1);
    expect(outcome).toMatchObject({
      sideEffect: 'confirmed',
      evidence: expect.arrayContaining([{ kind: 'repository', ref: '.git', detail: '1 files changed' }]),
    });
  });

  if (isRoot) {
    it('what it writes belongs to the user of the workspace, and no bit lets another run it as that user', async () => {
      await shell('touch made; cp /bin/true mine; chmod 6755 mine; mkfifo pipe; ln -s /etc/shadow link');
      expect(statSync(join(workspace.root, 'made')).uid).toBe(workspace.child?.uid);
      expect(workspace.child?.uid).not.toBe(0);
      await shell('rm -f mine pipe link made');
    });
  }

  it('RS-5: a canary secret in arguments, environment and files is in no result, artifact, log or record', async () => {
    const secret = Buffer.alloc(32, 7);
    const canary = `ghp_${'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1z2Q'}`;
    const redactor = createRedactor({ secret, tenant: 'acme' });
    process.env['WORKER_CANARY'] = canary;
    await putFile(workspace, 'secrets/.env', `API_TOKEN=${canary}\n`);
    await putFile(
      workspace,
      'leak.mjs',
      `import fs from 'node:fs';
console.log('arg', process.argv[2], 'env', process.env.WORKER_CANARY ?? 'none');
console.error(fs.readFileSync('secrets/.env', 'utf8'));
fs.writeFileSync('copied.txt', 'token: ' + process.argv[2] + '\\n');
for (let i = 0; i < 2000; i++) console.log('filler line number ' + i + ' ' + (i === 1500 ? process.argv[2] : ''));
fs.writeSync(1, process.argv[2].slice(0, 11)); await new Promise((r) => setTimeout(r, 30)); fs.writeSync(1, process.argv[2].slice(11) + '\\n');
process.exitCode = 1;`,
    );
    const artifacts = new ArtifactMemory();
    const outcome = await callTool(
      fixture.driver,
      'process.run',
      workspace,
      { argv: ['node', 'leak.mjs', canary] },
      { artifacts, redactor, background: true },
    );
    delete process.env['WORKER_CANARY'];
    expect(outcome).toMatchObject({ status: 'ok', data: { exit_code: 1 } });
    const { stdout } = outcome.data as unknown as Data;
    expect(stdout.text).toContain('env none');
    expect(stdout.text).toMatch(/\[redacted:/);
    expect(JSON.stringify(outcome)).not.toContain(canary);
    expect(artifacts.kept.length).toBeGreaterThan(1);
    for (const { name, bytes } of artifacts.kept) {
      expect(JSON.stringify(name)).not.toContain(canary);
      expect(bytes.toString()).not.toContain(canary);
      expect(bytes.toString()).toMatch(/\[redacted:/);
    }
    const { runs } = fixture.settings.layout;
    for (const file of readdirSync(runs)) expect(readFileSync(join(runs, file), 'utf8')).not.toContain(canary);
    for (const argv of [['make', `TOKEN=${canary}`], ['node', `--${canary}`], [canary], ['rm', `-${canary}`]]) {
      const refused = await callTool(fixture.driver, 'process.run', workspace, { argv }, { redactor }).catch(
        (thrown: Error) => thrown,
      );
      expect(`${(refused as Error).message} ${JSON.stringify(refused)}`).not.toContain(canary);
    }
  });
});

describe('commands that cannot be confined', () => {
  it.each(['bwrap'])('without %s: sandbox_unavailable, and nothing runs', async (missing) => {
    const fixture = await makeFixture();
    const workspace = await makeWorkspace(fixture);
    (fixture.settings.programs as Record<string, string | undefined>)[missing] = undefined;
    const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv: ['touch', 'made'] });
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'sandbox_unavailable' }, sideEffect: 'none' });
    expect(existsSync(join(workspace.root, 'made'))).toBe(false);
    await fixture.remove();
  });

  it('a lost claim: the program never begins', async () => {
    const fixture = await makeFixture();
    const workspace = await makeWorkspace(fixture);
    const beginEffect = async () => {
      throw new Error('the claim was lost');
    };
    const outcome = await callTool(
      fixture.driver,
      'process.run',
      workspace,
      { argv: ['touch', 'made'] },
      { beginEffect },
    );
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none' });
    expect(existsSync(join(workspace.root, 'made'))).toBe(false);
    mkdirSync(join(workspace.root, 'x'));
    await fixture.remove();
  });
});
