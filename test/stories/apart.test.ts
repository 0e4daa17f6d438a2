import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@toolfabric/bus-nats/testing';
import { connectFabric } from '@toolfabric/client';
import { type SpawnedService, spawnService, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readKustomized } from '../k8s/manifests.ts';
import { PodSpec, podOf } from '../k8s/pod-rules.ts';
import { jsonOf, runCommand } from './command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-apart-'));
const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url));
const manifests = readKustomized(fileURLToPath(new URL('../../k8s/base', import.meta.url)));
const services: SpawnedService[] = [];
let server: ChildProcess;
let url: string;
let token: string;

/** What the manifests mount, where the keys of this test are. */
const HERE: Readonly<Record<string, string>> = {
  '/var/run/toolfabric/signing-key/key': 'keys/signing.pem',
  '/var/run/toolfabric/public-keys/keys.json': 'keys/public-keys.json',
  '/var/run/toolfabric/public-keys/bus.json': 'keys/bus-public.json',
  '/var/run/toolfabric/tokens/tokens.json': 'tokens.json',
  '/var/lib/toolfabric': 'workspaces',
};

/** The environment that a manifest gives to its container, with the places of this test. */
const environmentOf = (name: string): Record<string, string> => {
  const found = manifests.find(({ manifest }) => manifest.metadata.name === name && podOf(manifest));
  const [container] = PodSpec.parse(found && podOf(found.manifest)?.spec).containers;
  const env = Object.fromEntries((container?.env ?? []).map((one) => [one.name, one.value]));
  for (const [key, value] of Object.entries(env)) {
    if (value === '/var/run/toolfabric/bus-key/seed') env[key] = join(folder, `keys/${name}.nk`);
    else if (HERE[value] !== undefined) env[key] = join(folder, HERE[value]);
    else if (value.startsWith('/')) delete env[key];
  }
  return { ...env, TOOLFABRIC_NATS_URL: url, TOOLFABRIC_PACE: 'test', TOOLFABRIC_HEALTH_PORT: '0' };
};

const start = async (name: string, env: Record<string, string> = {}): Promise<SpawnedService> => {
  const service = spawnService(app(name), { ...environmentOf(name), ...env });
  services.push(service);
  await service.ready;
  return service;
};

const provision = (...args: string[]) =>
  runCommand(['provision', '--json', ...args], { env: environmentOf('provisioner') });

beforeAll(async () => {
  const port = await freePort();
  url = `nats://127.0.0.1:${port}`;
  const store = join(folder, 'store');
  const keys = await runCommand(['keys', '--out', folder, '--listen', `127.0.0.1:${port}`, '--store', store, '--json']);
  const { serverConfig } = z.object({ keys: z.string(), serverConfig: z.string() }).parse(jsonOf(keys));
  // The monitoring port is fixed there, and several tests may run at once.
  const configFile = join(folder, 'server.conf');
  writeFileSync(configFile, readFileSync(serverConfig, 'utf8').replace(/^http: .*$/m, ''));
  server = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'nats-server', '-c', configFile], { stdio: 'ignore' });
  const who = ['--tenant', 'acme', '--user', 'ada', '--agent', 'ci'];
  token = z
    .looseObject({ token: z.string() })
    .parse(jsonOf(await runCommand(['token', 'add', 'first', '--state', folder, ...who, '--json']))).token;
});

afterAll(async () => {
  for (const service of services) service.kill();
  await Promise.all(services.map(({ exited }) => exited));
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

describe('services apart, each with the environment of its manifest', () => {
  it('OP-6: the provisioner plans, applies, and then finds nothing to do', async () => {
    const before = await provision('--plan');
    expect(before.code).toBe(1);
    expect(z.array(z.looseObject({ action: z.literal('create') })).parse(jsonOf(before)).length).toBeGreaterThan(20);
    expect((await provision()).code).toBe(0);
    const after = await provision('--plan');
    expect([after.code, jsonOf(after)]).toEqual([0, []]);
  });

  it('OP-4, FD-6: router, worker and gateway serve a call and stop with 0', async () => {
    await start('worker-cli');
    await start('router');
    const gateway = await start('gateway', { TOOLFABRIC_GATEWAY_HOST: '127.0.0.1', TOOLFABRIC_GATEWAY_PORT: '0' });
    const { address } = z.looseObject({ address: z.string() }).parse(await gateway.ready);
    const fabric = connectFabric({ address, token });
    try {
      const { taskId } = await fabric.createTask({ workspace: { type: 'empty' } });
      const call = await fabric.call({ taskId, tool: 'workspace.list_files', args: {} });
      expect(call.result?.status).toBe('ok');
    } finally {
      fabric.close();
    }
    for (const service of services) service.kill('SIGTERM');
    expect(await Promise.all(services.map(({ exited }) => exited))).toEqual(
      services.map(() => ({ code: 0, signal: null })),
    );
    await waitFor(() => services.every(({ log }) => log.some((line) => line.includes('"event":"stopped"'))));
  });
});
