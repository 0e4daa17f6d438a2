import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSigningKey, PACES } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

let directory: string;
let env: Record<string, string>;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-'));
  const { entry } = generateSigningKey('r1', ['router']);
  writeFileSync(join(directory, 'seed'), 'SUABC\n');
  writeFileSync(join(directory, 'bus-keys.json'), '{}');
  writeFileSync(join(directory, 'keys.json'), JSON.stringify([entry]));
  writeFileSync(join(directory, 'ca.crt'), 'PEM');
  env = {
    TOOLFABRIC_NATS_URL: 'nats://127.0.0.1:4222',
    TOOLFABRIC_NKEY_SEED_FILE: join(directory, 'seed'),
    TOOLFABRIC_BUS_KEYS_FILE: join(directory, 'bus-keys.json'),
    TOOLFABRIC_PUBLIC_KEYS_FILE: join(directory, 'keys.json'),
    TOOLFABRIC_EGRESS_SOCKET: '/run/toolfabric/egress/egress.sock',
  };
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('configuration of the web worker', () => {
  it('has defaults for everything that can have one', () => {
    expect(readConfig(env)).toMatchObject({
      kind: 'web',
      pace: PACES.production,
      slots: 8,
      egressSocket: '/run/toolfabric/egress/egress.sock',
      agent: 'Toolfabric/0.1',
      obeysRobots: true,
      cacheBytes: 16 * 1024 ** 2,
      threads: 2,
    });
    expect(readConfig(env)).not.toHaveProperty('egressCa');
  });

  it('reads the authority of the egress, and says where it stands', () => {
    const file = join(directory, 'ca.crt');
    expect(readConfig({ ...env, TOOLFABRIC_EGRESS_CA_FILE: file }).egressCa).toEqual({ pem: 'PEM', file });
  });

  it('takes a name for itself, and sites may be left unasked', () => {
    const said = { TOOLFABRIC_WEB_AGENT: 'ShopBot/2.1 (+https://shop.example/bot)', TOOLFABRIC_WEB_ROBOTS: 'ignore' };
    expect(readConfig({ ...env, ...said })).toMatchObject({ agent: said.TOOLFABRIC_WEB_AGENT, obeysRobots: false });
  });

  it.each([
    ['TOOLFABRIC_NATS_URL', undefined],
    ['TOOLFABRIC_EGRESS_SOCKET', undefined],
    ['TOOLFABRIC_EGRESS_SOCKET', 'egress.sock'],
    ['TOOLFABRIC_EGRESS_CA_FILE', 'ca.crt'],
    ['TOOLFABRIC_WEB_AGENT', 'two\nlines'],
    ['TOOLFABRIC_WEB_AGENT', ''],
    ['TOOLFABRIC_WEB_ROBOTS', 'sometimes'],
    ['TOOLFABRIC_WEB_CACHE_BYTES', '-1'],
    ['TOOLFABRIC_WEB_THREADS', '0'],
    ['TOOLFABRIC_SLOTS', '65'],
    ['TOOLFABRIC_KIND', 'a.b'],
    ['TOOLFABRIC_ARTIFACTS_URL', 'artifacts'],
  ])('refuses %s=%s by its name', (name, value) => {
    expect(() => readConfig({ ...env, [name]: value })).toThrow(name);
  });

  it('RS-5: refuses a secret of redaction that can be guessed', () => {
    const file = join(directory, 'redaction');
    writeFileSync(file, 'short\n');
    expect(() => readConfig({ ...env, TOOLFABRIC_REDACTION_KEY_FILE: file })).toThrow(/32 bytes/);
  });

  it('fault points are armed in tests only', () => {
    expect(() => readConfig({ ...env, TOOLFABRIC_FAULTS: 'worker.handled:kill' })).toThrow(/tests only/);
  });
});
