import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSigningKey, PACES } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';
import { DEFAULT_LIMITS } from './limits.ts';

let directory: string;
let env: Record<string, string>;
const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-'));
  const { entry } = generateSigningKey('r1', ['router']);
  env = {
    TOOLFABRIC_NATS_URL: 'nats://127.0.0.1:4222',
    TOOLFABRIC_NKEY_SEED_FILE: file('seed', 'SUABC\n'),
    TOOLFABRIC_BUS_KEYS_FILE: file('bus-keys.json', '{}'),
    TOOLFABRIC_PUBLIC_KEYS_FILE: file('keys.json', JSON.stringify([entry])),
    TOOLFABRIC_EGRESS_SOCKET: '/run/toolfabric/egress/socket',
    TOOLFABRIC_EGRESS_KINDS: 'web',
  };
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('configuration of the egress', () => {
  it('has defaults for everything that can have one', () => {
    const { authority, healthPort, ...read } = readConfig(env);
    expect(read).toMatchObject({
      bus: { servers: ['nats://127.0.0.1:4222'], nkeySeed: 'SUABC', publicKeys: {} },
      socket: { path: '/run/toolfabric/egress/socket' },
      publicKeys: [{ kid: 'r1', roles: ['router'] }],
      kinds: ['web'],
      extraCa: [],
      limits: DEFAULT_LIMITS,
      vaultKeyFiles: [],
      privateOrigins: [],
      redirectUris: [],
      pace: PACES.production,
    });
    expect([authority, healthPort]).toEqual([undefined, undefined]);
  });

  it('takes several pools, keys of the vault in their order, limits, a group and further authorities', () => {
    const read = readConfig({
      ...env,
      TOOLFABRIC_EGRESS_KINDS: 'web,cli',
      TOOLFABRIC_VAULT_KEY_FILES: '/keys/new:/keys/old',
      TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS: 'https://login.corp=10.0.0.0/8',
      TOOLFABRIC_CREDENTIAL_REDIRECT_URIS: 'https://fabric.corp/login',
      TOOLFABRIC_EGRESS_PERMITS: '7',
      TOOLFABRIC_EGRESS_IDLE_MS: '50',
      TOOLFABRIC_EGRESS_SOCKET_GROUP: '1000',
      TOOLFABRIC_EGRESS_EXTRA_CA_FILE: file('extra.pem', 'PEM'),
    });
    expect(read).toMatchObject({ kinds: ['web', 'cli'], vaultKeyFiles: ['/keys/new', '/keys/old'], extraCa: ['PEM'] });
    expect(read.privateOrigins).toEqual([{ origin: 'https://login.corp', addresses: ['10.0.0.0/8'] }]);
    expect(read.redirectUris).toEqual(['https://fabric.corp/login']);
    expect(read.limits).toEqual({ ...DEFAULT_LIMITS, permits: 7, idleMs: 50 });
    expect(read.socket.group).toBe(1000);
  });

  it('takes an authority that is there, or makes one only where it is told to', () => {
    const files = {
      TOOLFABRIC_EGRESS_CA_CERT_FILE: join(directory, 'ca.pem'),
      TOOLFABRIC_EGRESS_CA_KEY_FILE: join(directory, 'ca.key'),
    };
    expect(() => readConfig({ ...env, ...files })).toThrow('is missing');
    expect(readConfig({ ...env, ...files, TOOLFABRIC_EGRESS_CA_CREATE: '1' }).authority?.create).toBe(true);
    file('ca.pem', 'PEM');
    expect(() => readConfig({ ...env, ...files, TOOLFABRIC_EGRESS_CA_CREATE: '1' })).toThrow('is missing');
    file('ca.key', 'PEM');
    expect(readConfig({ ...env, ...files }).authority).toMatchObject({ create: false });
  });

  it('refuses a certificate without its key', () => {
    expect(() => readConfig({ ...env, TOOLFABRIC_EGRESS_CA_CERT_FILE: '/x' })).toThrow('go together');
    expect(() => readConfig({ ...env, TOOLFABRIC_EGRESS_CA_CREATE: '1' })).toThrow('go together');
  });

  it.each([
    ['TOOLFABRIC_NATS_URL', undefined],
    ['TOOLFABRIC_EGRESS_SOCKET', 'relative/socket'],
    ['TOOLFABRIC_EGRESS_SOCKET', undefined],
    ['TOOLFABRIC_EGRESS_KINDS', ''],
    ['TOOLFABRIC_EGRESS_KINDS', 'web,'],
    ['TOOLFABRIC_EGRESS_PERMITS', '0'],
    ['TOOLFABRIC_EGRESS_CONNECTIONS', 'many'],
    ['TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS', 'login.corp'],
    ['TOOLFABRIC_CREDENTIAL_REDIRECT_URIS', 'http://fabric.corp/login'],
  ])('names %s when it is %s', (name, value) => {
    expect(() => readConfig({ ...env, [name]: value })).toThrow(name);
  });

  it('arms fault points only in a test', () => {
    expect(() => readConfig({ ...env, TOOLFABRIC_FAULTS: 'egress.revoked' })).toThrow();
    expect(readConfig({ ...env, TOOLFABRIC_TEST: '1', TOOLFABRIC_FAULTS: 'egress.revoked' }).faults).toBeDefined();
  });
});
