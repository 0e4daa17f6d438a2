import { describe, expect, it } from 'vitest';
import { parseArguments } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';
import { DRAFT_FLAGS, draftOf } from './draft-of.ts';

const NOW = 1_800_000_000_000;
const LEAST = ['user:tracker', '--account', 'ada@example.com', '--host', 'tracker.example.com'];
const of = (...argv: string[]) => draftOf(parseArguments(argv, DRAFT_FLAGS, 1, 1), NOW);

describe('PO-11: a credential as the command line says it', () => {
  it('is a bearer token for its hosts where nothing else is said', () => {
    expect(of(...LEAST)).toEqual({
      handle: 'user:tracker',
      account: 'ada@example.com',
      audience: { hosts: ['tracker.example.com'] },
      inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
      kind: 'static',
    });
  });

  it('says where, how and for how long', () => {
    const more = ['--host', '*.tracker.example.com', '--path', '/api/v1', '--header', 'X-Api-Key', '--days', '2'];
    expect(of(...LEAST, ...more, '--test-address', 'https://tracker.example.com/api/v1/me')).toMatchObject({
      audience: { hosts: ['tracker.example.com', '*.tracker.example.com'], paths: ['/api/v1'] },
      inject: { type: 'header', header: 'x-api-key', template: '{secret}' },
      testAddress: 'https://tracker.example.com/api/v1/me',
      expiresAt: NOW + 2 * 86_400_000,
    });
    expect(of(...LEAST, '--template', 'token {secret}').inject).toMatchObject({
      header: 'authorization',
      template: 'token {secret}',
    });
    expect(of(...LEAST, '--basic', 'ada').inject).toEqual({ type: 'basic', user: 'ada' });
  });

  it('names the client of an authorisation server', () => {
    const client = ['--issuer', 'https://login.example.com', '--client-id', 'toolfabric', '--scope', 'read'];
    expect(of(...LEAST, '--kind', 'authorization-code', ...client, '--resource', 'https://a.example')).toMatchObject({
      kind: 'oauth_authorization_code',
      oauth: {
        issuer: 'https://login.example.com',
        clientId: 'toolfabric',
        scopes: ['read'],
        resource: 'https://a.example',
      },
    });
    expect(of(...LEAST, '--kind', 'oauth_token_exchange', ...client).kind).toBe('oauth_token_exchange');
    const exchange = of(...LEAST, '--kind', 'token-exchange', ...client, '--subject', 'user:login');
    expect(exchange.oauth?.subject).toBe('user:login');
  });

  it.each([
    ['another beginning of the handle', ['tracker', ...LEAST.slice(1)], 'the handle:'],
    ['no host', LEAST.slice(0, 3), '--host: must be given'],
    ['no account', [LEAST[0] ?? '', ...LEAST.slice(3)], '--account: must be given'],
    ['an address as a host', [...LEAST, '--host', 'https://x.example/'], '--host:'],
    ['a path that is none', [...LEAST, '--path', 'api'], '--path:'],
    ['a template without a place', [...LEAST, '--template', 'Bearer'], '--template:'],
    ['a colon in the user', [...LEAST, '--basic', 'a:b'], '--basic:'],
    ['two ways to show it', [...LEAST, '--basic', 'ada', '--header', 'x'], '--basic'],
    ['an unknown kind', [...LEAST, '--kind', 'password'], '--kind password'],
    ['a client of a static one', [...LEAST, '--issuer', 'https://l.example'], '--kind'],
    ['a subject of a static one', [...LEAST, '--subject', 'user:login'], '--subject'],
    [
      'a subject that is no handle',
      [
        ...LEAST,
        ...['--kind', 'token-exchange', '--issuer', 'https://l.example', '--client-id', 'c', '--subject', 'login'],
      ],
      '--subject:',
    ],
    [
      'a login without a server',
      [...LEAST, '--kind', 'authorization-code', '--client-id', 'c'],
      '--issuer: must be given',
    ],
    [
      'a login without a client',
      [...LEAST, '--kind', 'client-credentials', '--issuer', 'https://l.example'],
      '--client-id:',
    ],
    ['a test address that is none', [...LEAST, '--test-address', 'tracker'], '--test-address:'],
    ['no days', [...LEAST, '--days', '0'], '--days'],
  ])('refuses %s and names the flag', (_what, argv, flag) => {
    expect(() => of(...argv)).toThrow(UsageError);
    expect(() => of(...argv)).toThrow(flag);
  });
});
