import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkListen } from '@toolfabric/service-host';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-config-'));
const seed = join(folder, 'seed');
writeFileSync(seed, 'SUA-SEED\n');
const busKeys = join(folder, 'bus-keys.json');
const publicKeys = { router: `U${'A'.repeat(55)}` };
writeFileSync(busKeys, JSON.stringify(publicKeys));
afterAll(() => rmSync(folder, { recursive: true }));

const ENV = {
  TOOLFABRIC_NATS_URL: 'nats://127.0.0.1:4222,nats://127.0.0.1:4223',
  TOOLFABRIC_NKEY_SEED_FILE: seed,
  TOOLFABRIC_BUS_KEYS_FILE: busKeys,
  TOOLFABRIC_TOKENS_FILE: '/etc/toolfabric/tokens.json',
};

describe('the configuration', () => {
  it('has a default for everything that has a safe one', () => {
    const config = readConfig(ENV);
    expect(config.bus).toEqual({ servers: ENV.TOOLFABRIC_NATS_URL.split(','), nkeySeed: 'SUA-SEED', publicKeys });
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 7400, insecure: false });
    expect(config.pace.waitPollMs).toBe(1_000);
    expect(config).not.toHaveProperty('healthPort');
  });

  it('reads what is given', () => {
    const config = readConfig({
      ...ENV,
      TOOLFABRIC_GATEWAY_HOST: '::',
      TOOLFABRIC_GATEWAY_PORT: '0',
      TOOLFABRIC_TLS_CERT_FILE: 'c',
      TOOLFABRIC_TLS_KEY_FILE: 'k',
      TOOLFABRIC_HEALTH_PORT: '8080',
      TOOLFABRIC_PACE: 'test',
    });
    expect(config.listen).toEqual({ host: '::', port: 0, insecure: false, tls: { certFile: 'c', keyFile: 'k' } });
    expect(config.healthPort).toBe(8080);
    expect(config.pace.ackWaitMs).toBe(2_000);
  });

  it.each([
    ['TOOLFABRIC_NATS_URL', undefined],
    ['TOOLFABRIC_TOKENS_FILE', undefined],
    ['TOOLFABRIC_NKEY_SEED_FILE', '/nowhere/seed'],
    ['TOOLFABRIC_BUS_KEYS_FILE', undefined],
    ['TOOLFABRIC_BUS_KEYS_FILE', '/nowhere/keys'],
    ['TOOLFABRIC_GATEWAY_PORT', '70000'],
    ['TOOLFABRIC_GATEWAY_PORT', 'http'],
    ['TOOLFABRIC_PACE', 'fast'],
    ['TOOLFABRIC_TLS_CERT_FILE', 'alone.pem'],
    ['TOOLFABRIC_GATEWAY_INSECURE', 'yes'],
    ['TOOLFABRIC_FAULTS', 'gateway.after-accept:kill'],
  ])('is refused with %s=%s', (name, value) => {
    expect(() => readConfig({ ...ENV, [name]: value })).toThrow();
  });

  it('reads the issuers that are believed, and names what is wrong with one', () => {
    const file = join(folder, 'issuers.json');
    const issuer = { issuer: 'https://id.example', audience: 'toolfabric', tenant: 'acme' };
    writeFileSync(file, JSON.stringify([issuer]));
    expect(readConfig({ ...ENV, TOOLFABRIC_OIDC_FILE: file }).issuers).toMatchObject([issuer]);
    expect(readConfig(ENV).issuers).toEqual([]);
    writeFileSync(file, JSON.stringify([{ ...issuer, audience: '' }]));
    expect(() => readConfig({ ...ENV, TOOLFABRIC_OIDC_FILE: file })).toThrow(/audience/);
  });

  it('arms fault points in a test', () => {
    const env = { ...ENV, TOOLFABRIC_TEST: '1', TOOLFABRIC_FAULTS: 'gateway.after-accept:pause:2' };
    expect(() => readConfig(env).faults.at('gateway.after-accept')).not.toThrow();
  });
});

describe('where a gateway may listen', () => {
  const tls = { certFile: 'c', keyFile: 'k' };
  it.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost'])('on %s in the clear', (host) => {
    expect(() => checkListen({ host, port: 0, insecure: false })).not.toThrow();
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'example.com', '1127.0.0.1', '::ffff:10.0.0.1'])(
    'not on %s in the clear, unless it is said',
    (host) => {
      expect(() => checkListen({ host, port: 0, insecure: false })).toThrow('without TLS');
      expect(() => checkListen({ host, port: 0, insecure: true })).not.toThrow();
      expect(() => checkListen({ host, port: 0, insecure: false, tls })).not.toThrow();
    },
  );
});
