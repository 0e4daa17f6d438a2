import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { signNotice } from './webhook.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-webhook-'));
afterAll(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const secret = put('secret', 's'.repeat(32));
const env = {
  TOOLFABRIC_NATS_URL: 'nats://127.0.0.1:4222',
  TOOLFABRIC_NKEY_SEED_FILE: put('seed', 'S'),
  TOOLFABRIC_BUS_KEYS_FILE: put('bus-keys', '{}'),
  TOOLFABRIC_SIGNING_KEY_FILE: put('key', 'K'),
  TOOLFABRIC_SIGNING_KID: 'router-1',
};
const webhook = (url: string | undefined, file: string | undefined) =>
  readConfig({
    ...env,
    TOOLFABRIC_APPROVAL_WEBHOOK_URL: url,
    TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE: file,
  }).webhook;

describe('whom the router tells of approvals', () => {
  it('is nobody unless it is configured', () => expect(webhook(undefined, undefined)).toBeUndefined());

  it.each(['https://hooks.example.com/a', 'http://127.0.0.1:9000/a', 'http://localhost/a', 'http://[::1]:9000/a'])(
    'may be %s',
    (url) => expect(webhook(url, secret)?.url).toBe(url),
  );

  it.each<[string, string | undefined, string | undefined]>([
    ['beyond loopback in the clear', 'http://hooks.example.com/a', secret],
    ['what only looks like loopback', 'http://127.0.0.1.example.com/a', secret],
    ['another protocol', 'file:///etc/passwd', secret],
    ['an address with a password', 'https://ann:secret@hooks.example.com/a', secret],
    ['an address without a secret', 'https://hooks.example.com/a', undefined],
    ['a secret without an address', undefined, secret],
    ['a secret that is short', 'https://hooks.example.com/a', put('short', 'abc')],
  ])('is not %s', (_, url, file) => expect(() => webhook(url, file)).toThrow(/TOOLFABRIC_APPROVAL_WEBHOOK/));

  it('gets a signature over time and body', () => {
    const key = new TextEncoder().encode('k'.repeat(32));
    expect(signNotice(key, 5, 'x')).toMatch(/^t=5,v1=[0-9a-f]{64}$/);
    expect(signNotice(key, 6, 'x')).not.toBe(signNotice(key, 5, 'x'));
    expect(signNotice(key, 5, 'y')).not.toBe(signNotice(key, 5, 'x'));
  });
});
