import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

let folder: string;
let base: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-config-'));
  for (const [name, text] of Object.entries({
    seed: 'SUABC\n',
    keys: '[]',
    bus: '{}',
    id: 'key-id\n',
    secret: 'key-secret\n',
  })) {
    writeFileSync(join(folder, name), text);
  }
  base = {
    TOOLFABRIC_NATS_URL: 'nats://a:1,nats://b:2',
    TOOLFABRIC_NKEY_SEED_FILE: join(folder, 'seed'),
    TOOLFABRIC_BUS_KEYS_FILE: join(folder, 'bus'),
    TOOLFABRIC_PUBLIC_KEYS_FILE: join(folder, 'keys'),
    TOOLFABRIC_ARTIFACTS_DIR: join(folder, 'store'),
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('configuration', () => {
  it('has defaults that listen on loopback over a directory', () => {
    expect(readConfig(base)).toMatchObject({
      bus: { servers: ['nats://a:1', 'nats://b:2'], nkeySeed: 'SUABC', publicKeys: {} },
      listen: { host: '127.0.0.1', port: 7410, insecure: false },
      store: { type: 'directory', directory: join(folder, 'store') },
      limits: { logBytes: 16 * 1024 * 1024 },
      sweepEveryMs: 60_000,
    });
  });

  it('reads a bucket with its credentials', () => {
    const { TOOLFABRIC_ARTIFACTS_DIR: _directory, ...rest } = base;
    const config = readConfig({
      ...rest,
      TOOLFABRIC_ARTIFACTS_S3_BUCKET: 'b',
      TOOLFABRIC_ARTIFACTS_S3_PREFIX: 'x/y/',
      TOOLFABRIC_ARTIFACTS_S3_ENDPOINT: 'https://s3.example',
      TOOLFABRIC_ARTIFACTS_S3_PATH_STYLE: '1',
      TOOLFABRIC_ARTIFACTS_S3_ACCESS_KEY_ID_FILE: join(folder, 'id'),
      TOOLFABRIC_ARTIFACTS_S3_SECRET_KEY_FILE: join(folder, 'secret'),
    });
    expect(config.store).toEqual({
      type: 's3',
      bucket: 'b',
      prefix: 'x/y/',
      region: 'us-east-1',
      endpoint: 'https://s3.example',
      pathStyle: true,
      unfenced: false,
      credentials: { accessKeyId: 'key-id', secretAccessKey: 'key-secret' },
    });
  });

  it.each([
    ['no store', { TOOLFABRIC_ARTIFACTS_DIR: undefined }, 'TOOLFABRIC_ARTIFACTS_DIR'],
    ['two stores', { TOOLFABRIC_ARTIFACTS_S3_BUCKET: 'b' }, 'give one of'],
    ['a relative folder', { TOOLFABRIC_ARTIFACTS_DIR: 'store' }, 'absolute'],
    ['no bus', { TOOLFABRIC_NATS_URL: undefined }, 'TOOLFABRIC_NATS_URL'],
    ['a port that is none', { TOOLFABRIC_ARTIFACTS_PORT: '70000' }, 'TOOLFABRIC_ARTIFACTS_PORT'],
    ['a quota of nothing', { TOOLFABRIC_ARTIFACTS_TENANT_BYTES: '0' }, 'TOOLFABRIC_ARTIFACTS_TENANT_BYTES'],
    ['half of a certificate', { TOOLFABRIC_TLS_CERT_FILE: '/x' }, 'go together'],
    ['armed faults outside of tests', { TOOLFABRIC_FAULTS: 'artifacts.receiving:kill' }, 'tests only'],
    [
      'half of the credentials',
      {
        TOOLFABRIC_ARTIFACTS_DIR: undefined,
        TOOLFABRIC_ARTIFACTS_S3_BUCKET: 'b',
        TOOLFABRIC_ARTIFACTS_S3_ACCESS_KEY_ID_FILE: '/x',
      },
      'go together',
    ],
    [
      'a prefix that is no folder',
      {
        TOOLFABRIC_ARTIFACTS_DIR: undefined,
        TOOLFABRIC_ARTIFACTS_S3_BUCKET: 'b',
        TOOLFABRIC_ARTIFACTS_S3_PREFIX: '../x',
      },
      'TOOLFABRIC_ARTIFACTS_S3_PREFIX',
    ],
    [
      'artifacts that S3 does not copy',
      {
        TOOLFABRIC_ARTIFACTS_DIR: undefined,
        TOOLFABRIC_ARTIFACTS_S3_BUCKET: 'b',
        TOOLFABRIC_ARTIFACTS_MAX_BYTES: String(6 * 1024 ** 3),
      },
      'TOOLFABRIC_ARTIFACTS_MAX_BYTES',
    ],
  ])('refuses %s', (_what, over, message) => {
    expect(() => readConfig({ ...base, ...over })).toThrow(message);
  });
});
