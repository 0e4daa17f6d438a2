import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@toolfabric/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type CommandOptions,
  jsonOf,
  processesNaming,
  type Running,
  runCommand,
  startCommand,
  TOOLFABRIC,
} from './command-line.ts';

let folder: string;
let started: Running[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-up-'));
  started = [];
});
afterEach(async () => {
  for (const { child, ended } of started) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  }
  await waitFor(() => processesNaming(folder).length === 0, { what: 'nothing left behind' });
  rmSync(folder, { recursive: true, force: true });
});

const state = () => join(folder, 'state');
const startUp = (args: readonly string[] = [], options: CommandOptions = {}): Running => {
  const running = startCommand(['up', '--state', state(), '--port', '0', ...args], options);
  started.push(running);
  return running;
};
const isUp = (running: Running) => running.said('Ctrl-C stops everything.');
const natsPid = () =>
  z.object({ pid: z.int() }).parse(JSON.parse(readFileSync(join(state(), 'nats/server.pid'), 'utf8'))).pid;

describe('toolfabric up', () => {
  it('OP-4, FD-8: runs the whole story on one machine and ends with 0', async () => {
    const { code, stdout, stderr } = await startUp(['--story', '--exit']).ended;
    expect(stderr).toBe('');
    expect(stdout).toContain('story: everything came out as told');
    expect(code).toBe(0);
    const steps = [...stdout.matchAll(/^(\w.{22})\s+(\w+)\s+(\d+ ms)\s+(\d+-[0-9a-z]{26})/gm)].map((found) => found[2]);
    const refused = ['stale_version', 'invalid_arguments'];
    expect(steps).toEqual([...Array(5).fill('ok'), ...refused, ...Array(5).fill('ok')]);
  });

  it('tells the story as lines of JSON too', async () => {
    const { stdout } = await startUp(['--story', '--exit', '--json']).ended;
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => z.looseObject({ event: z.string() }).parse(JSON.parse(line)).event);
    expect(events).toEqual(['up', 'task', ...Array(12).fill('step'), 'story']);
  });

  it('ends the story with 1 when something comes out otherwise', async () => {
    const { code, stdout } = await startUp(['--story', '--exit'], { env: { PATH: await pathWithout('git') } }).ended;
    expect(code).toBe(1);
    expect(stdout).toContain('story: FAILED: ');
  });

  it('OP-3: stops at Ctrl-C with 0, leaves nothing running, and keeps keys and token for their owner alone', async () => {
    const up = startUp();
    await isUp(up);
    // A terminal sends it to the whole group, as here.
    process.kill(-(up.child.pid ?? 0), 'SIGINT');
    const { code, stderr } = await up.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('stopping');
    expect(processesNaming(folder)).toEqual([]);
    for (const file of ['client.json', 'tokens.json', 'keys/router.nk', 'keys/signing.pem', 'up.log']) {
      expect([file, statSync(join(state(), file)).mode & 0o777]).toEqual([file, 0o600]);
    }
    expect(readFileSync(join(state(), 'tokens.json'), 'utf8')).not.toContain('tf_');
  });

  it('RE-3: leaves no orphan after it was killed, and the next one starts and still knows the calls', async () => {
    const first = startUp(['--story']);
    await isUp(first);
    const callId =
      /\d+-[0-9a-z]{26}/.exec(
        (await runCommand(['call', 'workspace.read_file', '--workspace', 'empty', 'path=x', '--state', state()]))
          .stdout,
      )?.[0] ?? '';
    const before = jsonOf(await runCommand(['get', callId, '--json', '--state', state()]));
    first.child.kill('SIGKILL');
    await first.ended;
    await waitFor(() => processesNaming(folder).length === 0, { what: 'no orphan' });
    const second = startUp();
    await isUp(second);
    expect(jsonOf(await runCommand(['get', callId, '--json', '--state', state()]))).toEqual(before);
  });

  it('refuses a second one on the same state folder, which leaves the first alone', async () => {
    const first = startUp();
    await isUp(first);
    const { code, stderr } = await startUp().ended;
    expect(code).toBe(1);
    expect(stderr).toContain('another `toolfabric up` uses this state folder');
    expect((await runCommand(['tools', 'list', '--state', state()])).code).toBe(0);
  });

  it('outlives a nats-server that was killed', async () => {
    const up = startUp();
    await isUp(up);
    const dead = natsPid();
    process.kill(dead, 'SIGKILL');
    await waitFor(() => natsPid() !== dead, { what: 'a new server' });
    const { code, stdout } = await runCommand([
      'call',
      'workspace.list_files',
      '--workspace',
      'empty',
      '--state',
      state(),
    ]);
    expect(stdout).toContain('  ok');
    expect(code).toBe(0);
  });

  it('outlives an egress that was killed: the way out is a process of its own', async () => {
    const up = startUp();
    await isUp(up);
    const egressPid = () =>
      Number(
        processesNaming(folder)
          .find((line) => line.endsWith('egress/src/main.ts'))
          ?.split(' ')[0],
      );
    const ask = async () => {
      const url = 'url=http://127.0.0.1:9/';
      const { stdout } = await runCommand([
        'call',
        'url.fetch',
        '--workspace',
        'empty',
        url,
        '--json',
        '--state',
        state(),
      ]);
      return stdout;
    };
    expect(await ask()).toContain('egress_refused');
    const dead = egressPid();
    process.kill(dead, 'SIGKILL');
    await waitFor(() => egressPid() > 0 && egressPid() !== dead, { what: 'a new egress', timeoutMs: 20_000 });
    await waitFor(async () => (await ask()).includes('egress_refused'), { what: 'its answer', timeoutMs: 20_000 });
  });

  it('refuses a store of a newer nats-server, and says what to do', async () => {
    const up = startUp();
    await isUp(up);
    up.child.kill('SIGTERM');
    await up.ended;
    writeFileSync(join(state(), 'nats/server_version'), '99.0.0\n');
    const { code, stderr } = await startUp().ended;
    expect(code).toBe(1);
    expect(stderr).toContain('this state was written by nats-server 99.0.0');
  });

  it('says so when the port is taken, and starts nothing', async () => {
    const first = startUp();
    await isUp(first);
    const address = z
      .object({ address: z.string() })
      .parse(JSON.parse(readFileSync(join(state(), 'client.json'), 'utf8'))).address;
    const taken = startCommand(['up', '--state', join(folder, 'other'), '--port', address.split(':')[1] ?? '']);
    started.push(taken);
    const { code, stderr } = await taken.ended;
    expect(stderr).toContain(address);
    expect(code).toBe(5);
    expect(existsSync(join(folder, 'other', 'nats'))).toBe(false);
  });
});

describe('toolfabric doctor', () => {
  it('finds everything here and says what the bus can do', async () => {
    const { code, stdout } = await runCommand(['doctor']);
    expect(stdout).toContain('everything is there');
    expect(stdout).toMatch(/sandbox {6}works/);
    expect(stdout).toContain('discardNewPerSubject');
    expect(code).toBe(0);
  });

  it('TR-1: looks at the ClickHouse server of the environment, and names it where it does not answer', async () => {
    const env = { TOOLFABRIC_CLICKHOUSE_URL: 'http://user:hunter2@127.0.0.1:1' };
    const ended = await runCommand(['doctor'], { env });
    expect(ended.stdout).toMatch(/^clickhouse +OFF: the ClickHouse server does not answer/m);
    expect(ended.stdout).toContain('off: traces: the ClickHouse server does not answer');
    expect(`${ended.stdout}${ended.stderr}`).not.toContain('hunter2');
    expect(ended.code).toBe(5);
  });

  it('names what is off where rg is missing, with exit code 5', async () => {
    const env = { PATH: await pathWithout('rg') };
    const ended = await runCommand(['doctor', '--json'], { env });
    const report = z.looseObject({ off: z.array(z.string()) }).parse(jsonOf(ended));
    expect(report.off).toEqual([expect.stringContaining('workspace.search_code')]);
    expect(ended.code).toBe(5);
    expect((await runCommand(['doctor'], { env })).stdout).toMatch(/^rg +MISSING$/m);
  });
});

/** A PATH that has the programs of this machine but one. */
const pathWithout = async (program: string): Promise<string> => {
  const bin = mkdtempSync(join(folder, 'bin-'));
  for (const name of [
    'sh',
    'readlink',
    'dirname',
    'env',
    'nats-server',
    'rg',
    'git',
    'bwrap',
    'setpriv',
    'flock',
    'prlimit',
    'timeout',
    'cat',
  ]) {
    const found = (process.env['PATH'] ?? '')
      .split(':')
      .concat('/usr/sbin')
      .map((dir) => join(dir, name))
      .find(existsSync);
    if (name !== program && found !== undefined) symlinkSync(found, join(bin, name));
  }
  return bin;
};

describe('the launcher', () => {
  it('works through links and from any folder', async () => {
    const link = join(folder, 'a link');
    symlinkSync(TOOLFABRIC, link);
    symlinkSync('a link', join(folder, 'tf'));
    const { code, stdout } = await runCommand(['--help'], { program: join(folder, 'tf'), cwd: '/' });
    expect(stdout).toContain('usage: toolfabric <verb>');
    expect(code).toBe(0);
  });
});
