import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recoversAlone } from '@toolfabric/bus-nats';
import { silentLogger, systemClock } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askProgram, versionIn } from '../programs/ask-program.ts';
import { findProgram } from '../programs/find-program.ts';
import { identify, isAlive, ProcessIdentity } from '../programs/process-identity.ts';
import { type NatsOptions, startNatsServer } from './nats-server.ts';
import { makePrivateDir, stateFiles, writePrivate } from './state-dir.ts';

const program = findProgram('nats-server', process.env['PATH'] ?? '') ?? 'nats-server';
const setpriv = findProgram('setpriv', process.env['PATH'] ?? '');
let folder: string;
let running: RunningService[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-nats-'));
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

const configIn = (root: string) => (port: number) =>
  `listen: "127.0.0.1:${port}"\njetstream: { store_dir: ${JSON.stringify(join(root, 'nats', 'store'))} }\n`;
const optionsFor = (over: Partial<NatsOptions> = {}): NatsOptions => ({
  files: stateFiles(folder).nats,
  program,
  setpriv,
  configFor: configIn(folder),
  logger: silentLogger,
  ...over,
});
const start = async (over: Partial<NatsOptions> = {}) => {
  const server = await startNatsServer(optionsFor(over));
  running.push(server);
  return server;
};
const identity = () => ProcessIdentity.parse(JSON.parse(readFileSync(stateFiles(folder).nats.pid, 'utf8')));
const eventually = async (holds: () => boolean | Promise<boolean>) => {
  const until = systemClock.monotonic() + 10_000;
  while (!(await holds())) {
    if (systemClock.monotonic() > until) throw new Error('did not come to hold');
    await systemClock.sleep(20);
  }
};
const reachable = (address: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
    socket
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('connect', () => socket.destroy());
  });

describe('the nats-server of `up`', () => {
  it('answers on a loopback port, and nothing is left after stop', async () => {
    const server = await start();
    const child = identity();
    expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(await reachable(server.address)).toBe(true);
    await server.stop();
    expect(isAlive(child)).toBe(false);
    expect(existsSync(stateFiles(folder).nats.pid)).toBe(false);
  });

  it.each([
    ['the kernel', setpriv],
    ['a shell', undefined],
  ])('dies with a parent that was killed, by %s', async (_by, guard) => {
    const code = `import { startNatsServer } from ${JSON.stringify(new URL('./nats-server.ts', import.meta.url).href)};
      import { stateFiles } from ${JSON.stringify(new URL('./state-dir.ts', import.meta.url).href)};
      import { silentLogger } from '@toolfabric/kernel';
      const { address } = await startNatsServer({ files: stateFiles(${JSON.stringify(folder)}).nats, program: ${JSON.stringify(program)},
        setpriv: ${JSON.stringify(guard)}, logger: silentLogger, configFor: (port) => ${JSON.stringify(configIn(folder)(4242))}.replace('4242', port) });
      console.log(address); setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: new URL('.', import.meta.url).pathname,
    });
    const address = String((await once(parent.stdout, 'data'))[0]).trim();
    expect(await reachable(address)).toBe(true);
    parent.kill('SIGKILL');
    await eventually(async () => !(await reachable(address)));
  });

  it.each([
    ['the kernel', setpriv],
    ['a shell', undefined],
  ])('is started again on the same port after it was killed, guarded by %s', async (_by, guard) => {
    const server = await start({ setpriv: guard });
    const first = identity();
    process.kill(first.pid, 'SIGKILL');
    await eventually(() => identity().pid !== first.pid);
    await eventually(() => reachable(server.address));
  });

  it('N4: has its store prepared before every start', async () => {
    const stream = join(stateFiles(folder).nats.store, 'jetstream', 'CORE', 'streams', 'S', 'msgs');
    const left = () => readdirSync(stream).sort();
    makePrivateDir(stream);
    const { text } = await askProgram(program, ['--version']);
    const ready = (block: number) => (recoversAlone(versionIn(text) ?? '') ? `${block}.blk` : `000000000${block}.blk`);
    writeFileSync(join(stream, '7.blk'), '');
    await start();
    expect(left()).toContain(ready(7));
    const first = identity();
    writeFileSync(join(stream, '8.blk'), '');
    process.kill(first.pid, 'SIGKILL');
    await eventually(() => identity().pid !== first.pid);
    expect(left()).toContain(ready(8));
  });

  it('is given up when its store cannot be prepared', async () => {
    const server = await start();
    const streams = join(stateFiles(folder).nats.store, 'jetstream', 'CORE', 'streams');
    makePrivateDir(join(streams, 'S'));
    writeFileSync(join(streams, 'S', 'msgs'), 'no folder');
    process.kill(identity().pid, 'SIGKILL');
    expect(await server.failed).toContain('nats-server ended 6 times');
  });

  it('is given up when it ends again and again', async () => {
    const server = await start();
    let last = 0;
    const killer = setInterval(() => {
      if (!existsSync(stateFiles(folder).nats.pid)) return;
      const { pid } = identity();
      if (pid === last || !identify(pid)) return;
      last = pid;
      process.kill(pid, 'SIGKILL');
    }, 10);
    try {
      expect(await server.failed).toContain('nats-server ended 6 times');
    } finally {
      clearInterval(killer);
    }
  });

  it('refuses a store that a newer server wrote', async () => {
    makePrivateDir(join(folder, 'nats'));
    writeFileSync(stateFiles(folder).nats.version, '99.1.0\n');
    await expect(start()).rejects.toThrow('this state was written by nats-server 99.1.0');
  });

  it('ends a server that an earlier run left, and only that very process', async () => {
    const left = spawn('sleep', ['1000']);
    const other = spawn('sleep', ['1000']);
    try {
      const { pid } = stateFiles(folder).nats;
      writePrivate(pid, JSON.stringify({ ...identify(other.pid ?? 0), startedAt: 'another start' }));
      await (await start()).stop();
      expect(identify(other.pid ?? 0)).toBeDefined();
      const noted = identify(left.pid ?? 0);
      writePrivate(pid, JSON.stringify(noted));
      await (await start()).stop();
      expect(noted && isAlive(noted)).toBe(false);
    } finally {
      left.kill('SIGKILL');
      other.kill('SIGKILL');
    }
  });

  it('says why it did not start', async () => {
    await expect(start({ configFor: () => 'nonsense {' })).rejects.toThrow(/nats-server did not start: .*Parse error/);
  });
});
