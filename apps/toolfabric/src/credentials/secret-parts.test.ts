import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { CredentialKind } from '@toolfabric/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { parseArguments } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';
import { DRAFT_FLAGS } from './draft-of.ts';
import { SECRET_FLAGS, secretParts } from './secret-parts.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));
const clientFile = join(folder, 'client');
writeFileSync(clientFile, 'of the client\n');

const of = (kind: CredentialKind, argv: readonly string[] = [], piped = 'piped\n') =>
  secretParts(kind, parseArguments(argv, { ...DRAFT_FLAGS, ...SECRET_FLAGS }, 0, 0), {
    stdin: Readable.from([piped]),
    signal: new AbortController().signal,
  });

describe('PO-11: the secrets of a credential', () => {
  it('are what its kind needs', async () => {
    expect(await of('static')).toEqual({ secret: 'piped' });
    expect(await of('oauth_client_credentials')).toEqual({ clientSecret: 'piped' });
    expect(await of('oauth_token_exchange')).toEqual({ subjectToken: 'piped' });
    const both = await of('oauth_token_exchange', ['--client-secret-file', clientFile]);
    expect(both).toEqual({ subjectToken: 'piped', clientSecret: 'of the client' });
    expect(await of('static', ['--secret-file', clientFile])).toEqual({ secret: 'of the client' });
  });

  it('a login brings its own: nothing is read for it, but for a client that has a secret', async () => {
    expect(await of('oauth_authorization_code')).toBeUndefined();
    const client = await of('oauth_authorization_code', ['--client-secret-file', clientFile]);
    expect(client).toEqual({ clientSecret: 'of the client' });
    expect(await of('oauth_token_exchange', ['--subject', 'user:login'])).toBeUndefined();
  });

  it.each<[CredentialKind, string]>([
    ['static', '--client-secret-file'],
    ['oauth_client_credentials', '--client-secret-file'],
    ['oauth_authorization_code', '--secret-file'],
  ])('%s has no place for %s', async (kind, flag) => {
    await expect(of(kind, [flag, clientFile])).rejects.toThrow(UsageError);
  });
});
