import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSigningKey, PACES } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND_DEFAULTS } from './command/compile-commands.ts';
import { readConfig } from './config.ts';

let directory: string;
let env: Record<string, string>;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-'));
  const { entry } = generateSigningKey('r1', ['router']);
  writeFileSync(join(directory, 'seed'), 'SUABC\n');
  writeFileSync(join(directory, 'bus-keys.json'), '{}');
  writeFileSync(join(directory, 'keys.json'), JSON.stringify([entry]));
  env = {
    TOOLFABRIC_NATS_URL: 'nats://127.0.0.1:4222,nats://127.0.0.1:4223',
    TOOLFABRIC_NKEY_SEED_FILE: join(directory, 'seed'),
    TOOLFABRIC_BUS_KEYS_FILE: join(directory, 'bus-keys.json'),
    TOOLFABRIC_PUBLIC_KEYS_FILE: join(directory, 'keys.json'),
    TOOLFABRIC_STATE_DIR: '/var/lib/toolfabric',
  };
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('configuration of the cli worker', () => {
  it('has defaults for everything that can have one', () => {
    expect(readConfig(env)).toMatchObject({
      bus: { servers: ['nats://127.0.0.1:4222', 'nats://127.0.0.1:4223'], nkeySeed: 'SUABC', publicKeys: {} },
      kind: 'cli',
      publicKeys: [{ kid: 'r1', roles: ['router'] }],
      pace: PACES.production,
      stateDir: '/var/lib/toolfabric',
      workspaceRoots: [],
      protectedDirs: [],
      cloneSources: [],
      allowRootOwned: false,
      workspaceUsers: { first: 40_000, count: 20_000 },
    });
  });

  it('takes several roots, as a path list', () => {
    expect(readConfig({ ...env, TOOLFABRIC_WORKSPACE_ROOTS: '/srv/a:/srv/b:' }).workspaceRoots).toEqual([
      '/srv/a',
      '/srv/b',
    ]);
  });

  it('takes protected directories and sources inside them, as path lists', () => {
    const lists = { TOOLFABRIC_PROTECTED_DIRS: '/srv/a:/srv/b', TOOLFABRIC_CLONE_SOURCES: '/srv/a/sample' };
    const read = readConfig({ ...env, ...lists });
    expect(read.protectedDirs).toEqual(['/srv/a', '/srv/b']);
    expect(read.cloneSources).toEqual(['/srv/a/sample']);
  });

  it.each([
    ['TOOLFABRIC_NATS_URL', undefined],
    ['TOOLFABRIC_STATE_DIR', 'relative/dir'],
    ['TOOLFABRIC_WORKSPACE_ROOTS', '/srv/a:b'],
    ['TOOLFABRIC_PROTECTED_DIRS', 'state'],
    ['TOOLFABRIC_CLONE_SOURCES', 'state/sample'],
    ['TOOLFABRIC_WORKSPACE_UID_FIRST', '0'],
    ['TOOLFABRIC_SLOTS', '0'],
    ['TOOLFABRIC_KIND', 'a.b'],
    ['TOOLFABRIC_ALLOW_ROOT_OWNED', 'yes'],
    ['TOOLFABRIC_PACE', 'fast'],
    ['TOOLFABRIC_TENANCY', 'many'],
    ['TOOLFABRIC_ARTIFACTS_URL', 'artifacts'],
    ['TOOLFABRIC_COMMAND_MEMORY_BYTES', '100'],
    ['TOOLFABRIC_COMMAND_PROCESSES', '1'],
    ['TOOLFABRIC_PROGRAMS', 'node,bash'],
    ['TOOLFABRIC_PROGRAMS', ''],
    ['TOOLFABRIC_TOOLCHAIN_DIRS', 'opt/node'],
  ])('refuses %s=%s by its name', (name, value) => {
    expect(() => readConfig({ ...env, [name]: value })).toThrow(name);
  });

  it('says what commands may take, and which there are', () => {
    expect(readConfig(env)).toMatchObject({ tenancy: 'shared', commands: COMMAND_DEFAULTS });
    const commands = readConfig({
      ...env,
      TOOLFABRIC_TENANCY: 'single',
      TOOLFABRIC_COMMAND_MEMORY_BYTES: '268435456',
      TOOLFABRIC_PROGRAMS: 'node, make',
      TOOLFABRIC_TOOLCHAIN_DIRS: '/opt/node:/opt/python',
      TOOLFABRIC_CGROUP: 'toolfabric/commands',
    }).commands;
    expect(commands).toMatchObject({
      memoryBytes: 268_435_456,
      programs: ['node', 'make'],
      toolchains: ['/opt/node', '/opt/python'],
      cgroup: 'toolfabric/commands',
    });
  });

  it('RS-5: reads the secret of redaction, and refuses one that can be guessed', () => {
    const file = join(directory, 'redaction');
    writeFileSync(file, `${'k'.repeat(44)}\n`);
    const read = readConfig({
      ...env,
      TOOLFABRIC_REDACTION_KEY_FILE: file,
      TOOLFABRIC_ARTIFACTS_URL: 'http://127.0.0.1:1',
    });
    expect(Buffer.from(read.redactionSecret ?? []).toString()).toBe('k'.repeat(44));
    expect(read.artifactsUrl).toBe('http://127.0.0.1:1');
    writeFileSync(file, 'short\n');
    expect(() => readConfig({ ...env, TOOLFABRIC_REDACTION_KEY_FILE: file })).toThrow(/32 bytes/);
  });

  it('fault points are armed in tests only', () => {
    const faults = { ...env, TOOLFABRIC_FAULTS: 'worker.after-write:kill' };
    expect(() => readConfig(faults)).toThrow(/tests only/);
    expect(readConfig({ ...faults, TOOLFABRIC_TEST: '1' }).faults.at('worker.started')).toBeUndefined();
  });
});
