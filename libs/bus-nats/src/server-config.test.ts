import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateBusKeys } from './nkeys.ts';
import { usersFor } from './permissions.ts';
import { renderServerConfig } from './server-config.ts';
import { freePort } from './testing/free-port.ts';
import { launchServer } from './testing/launch-server.ts';
import { waitFor } from './testing/wait-for.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolfabric-config-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const KINDS = ['cli', 'cli-trusted', 'web'];
const write = async (name: string, port: number): Promise<string> => {
  const file = join(directory, name);
  const config = renderServerConfig({
    kinds: KINDS,
    publicKeys: generateBusKeys(KINDS).publicKeys,
    host: '127.0.0.1',
    port,
    storeDir: join(directory, `${name} "store"`),
    fileStoreBytes: 1024 * 1024,
  });
  await writeFile(file, config);
  return file;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('server configuration', () => {
  it('is accepted by the server, whatever the path looks like', async () => {
    const file = await write('checked.conf', 4222);
    await expect(promisify(execFile)('nats-server', ['-t', '-c', file])).resolves.toBeDefined();
  });

  it('needs a key for every user', () => {
    const { publicKeys } = generateBusKeys(['cli']);
    expect(Object.keys(publicKeys).sort()).toEqual([...usersFor(['cli'])].sort());
    const base = { kinds: KINDS, publicKeys, host: '127.0.0.1', port: 1, storeDir: '/x', fileStoreBytes: 1 };
    expect(() => renderServerConfig(base)).toThrow('worker-cli-trusted');
  });

  it('holds no seed', async () => {
    const keys = generateBusKeys(['cli']);
    const config = renderServerConfig({
      kinds: ['cli'],
      publicKeys: keys.publicKeys,
      host: '127.0.0.1',
      port: 1,
      storeDir: '/x',
      fileStoreBytes: 1,
    });
    for (const seed of Object.values(keys.seeds)) expect(config).not.toContain(seed);
  });
});

describe('launched server', () => {
  it('says why it did not start', async () => {
    const configFile = join(directory, 'broken.conf');
    await writeFile(configFile, 'listen: "127.0.0.1:1"\njetstream: {');
    const starting = launchServer({ program: 'nats-server', configFile, host: '127.0.0.1', port: 1 });
    await expect(starting).rejects.toThrow('did not start');
  });

  it('a missing program is an error, not a wait', async () => {
    const configFile = await write('missing.conf', await freePort());
    const starting = launchServer({ program: '/nowhere/nats-server', configFile, host: '127.0.0.1', port: 1 });
    await expect(starting).rejects.toThrow('did not start');
  });

  it.runIf(process.platform === 'linux')('dies with its parent, also when that one is killed', async () => {
    const port = await freePort();
    const configFile = await write('orphan.conf', port);
    const script = `
      const { launchServer } = await import(${JSON.stringify(new URL('./testing/launch-server.ts', import.meta.url).href)});
      const server = await launchServer({ program: 'nats-server', configFile: process.argv[1], host: '127.0.0.1', port: ${port} });
      console.log(server.pid);
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script, configFile]);
    const pid = await new Promise<number>((resolve, reject) => {
      parent.stdout.once('data', (data: Buffer) => resolve(Number(data.toString())));
      parent.once('exit', () => reject(new Error('the parent ended')));
    });
    expect(isAlive(pid)).toBe(true);
    parent.removeAllListeners('exit');
    parent.kill('SIGKILL');
    await waitFor(() => !isAlive(pid));
  });
});
