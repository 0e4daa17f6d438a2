import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const directory = mkdtempSync(join(tmpdir(), 'toolfabric-trace-config-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const seed = join(directory, 'seed');
writeFileSync(seed, 'SUSEED\n');
const busKeys = join(directory, 'bus-keys.json');
const publicKeys = { router: `U${'A'.repeat(55)}` };
writeFileSync(busKeys, JSON.stringify(publicKeys));
const password = join(directory, 'password');
writeFileSync(password, 'secret\n');

const base = {
  TOOLFABRIC_NATS_URL: 'nats://a,nats://b',
  TOOLFABRIC_NKEY_SEED_FILE: seed,
  TOOLFABRIC_BUS_KEYS_FILE: busKeys,
};
const chdb = { ...base, TOOLFABRIC_TRACE_DIR: '/var/lib/traces' };
const clickhouse = { ...base, TOOLFABRIC_TRACE_STORE: 'clickhouse', TOOLFABRIC_CLICKHOUSE_URL: 'https://ch:8443' };

describe('configuration of the trace writer', () => {
  it('takes the embedded engine unless something else is said', () => {
    expect(readConfig(chdb)).toMatchObject({
      bus: { servers: ['nats://a', 'nats://b'], nkeySeed: 'SUSEED', publicKeys },
      kinds: ['cli', 'web'],
      store: { type: 'chdb', directory: '/var/lib/traces', memoryBytes: 1024 * 1024 * 1024, module: 'chdb' },
      retention: { days: 30, tenants: {} },
    });
  });

  it('reads how much it may hold', () => {
    expect(readConfig(chdb).room).toEqual({ events: 6_000, bytes: 24 * 1024 * 1024 });
    const env = { ...chdb, TOOLFABRIC_TRACE_HELD_EVENTS: '50', TOOLFABRIC_TRACE_HELD_KB: '64' };
    expect(readConfig(env).room).toEqual({ events: 50, bytes: 64 * 1024 });
    expect(() => readConfig({ ...chdb, TOOLFABRIC_TRACE_HELD_EVENTS: '0' })).toThrow('TOOLFABRIC_TRACE_HELD_EVENTS');
    expect(() => readConfig({ ...chdb, TOOLFABRIC_TRACE_HELD_KB: 'x' })).toThrow('TOOLFABRIC_TRACE_HELD_KB');
  });

  it('reads how far it yields to others', () => {
    expect(readConfig(chdb)).toMatchObject({ niceness: 10, store: { niceness: 10 } });
    const env = { ...chdb, TOOLFABRIC_TRACE_NICENESS: '0' };
    expect(readConfig(env)).toMatchObject({ niceness: 0, store: { niceness: 0 } });
  });

  it('reads a server, and its password from a file', () => {
    expect(readConfig({ ...clickhouse, TOOLFABRIC_CLICKHOUSE_PASSWORD_FILE: password }).store).toMatchObject({
      type: 'clickhouse',
      url: 'https://ch:8443',
      username: 'default',
      password: 'secret',
      database: 'toolfabric',
    });
  });

  it('reads days for single tenants', () => {
    const env = { ...chdb, TOOLFABRIC_TRACE_RETENTION_DAYS: '7', TOOLFABRIC_TRACE_TENANT_DAYS: 'acme=1, rival=90' };
    expect(readConfig(env).retention).toEqual({ days: 7, tenants: { acme: 1, rival: 90 } });
  });

  it.each([
    [{ ...base }, 'TOOLFABRIC_TRACE_DIR'],
    [{ ...base, TOOLFABRIC_TRACE_DIR: 'relative' }, 'TOOLFABRIC_TRACE_DIR'],
    [{ ...chdb, TOOLFABRIC_TRACE_MEMORY_MB: '100' }, 'TOOLFABRIC_TRACE_MEMORY_MB'],
    [{ ...chdb, TOOLFABRIC_TRACE_RETENTION_DAYS: '0' }, 'TOOLFABRIC_TRACE_RETENTION_DAYS'],
    [{ ...chdb, TOOLFABRIC_TRACE_NICENESS: '-1' }, 'TOOLFABRIC_TRACE_NICENESS'],
    [{ ...chdb, TOOLFABRIC_TRACE_NICENESS: '20' }, 'TOOLFABRIC_TRACE_NICENESS'],
    [{ ...chdb, TOOLFABRIC_TRACE_TENANT_DAYS: 'acme' }, 'TOOLFABRIC_TRACE_TENANT_DAYS'],
    [{ ...chdb, TOOLFABRIC_TRACE_TENANT_DAYS: 'A.B=3' }, 'TOOLFABRIC_TRACE_TENANT_DAYS'],
    [{ ...chdb, TOOLFABRIC_TRACE_TENANT_DAYS: 'acme=x' }, 'TOOLFABRIC_TRACE_TENANT_DAYS'],
    [{ ...chdb, TOOLFABRIC_TRACE_STORE: 'sqlite' }, 'TOOLFABRIC_TRACE_STORE'],
    [{ ...clickhouse, TOOLFABRIC_CLICKHOUSE_URL: 'file:///etc/passwd' }, 'TOOLFABRIC_CLICKHOUSE_URL'],
    [{ ...clickhouse, TOOLFABRIC_CLICKHOUSE_DATABASE: 'a; DROP' }, 'TOOLFABRIC_CLICKHOUSE_DATABASE'],
    [{ TOOLFABRIC_TRACE_DIR: '/x' }, 'TOOLFABRIC_NATS_URL'],
  ])('names what is wrong in %j', (env, name) => {
    expect(() => readConfig(env)).toThrow(name);
  });
});
