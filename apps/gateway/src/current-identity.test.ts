import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { authenticate } from './authenticate.ts';
import type { TokenBook } from './tokens.ts';

const entry = (changes: object = {}) => ({
  ...{ id: 'grace', tenant: 'acme', user: 'grace', agent: 'cli', rights: ['approvals:decide', 'unknown:resolve'] },
  ...changes,
});

describe('somebody who goes on being told', () => {
  it.each<[string, object | undefined, boolean]>([
    ['nothing changed', {}, true],
    ['with one right more', { rights: ['approvals:decide', 'unknown:resolve', 'policy:replay'] }, true],
    ['with a right less', { rights: ['unknown:resolve'] }, false],
    ['as another user', { user: 'linus' }, false],
    ['whose token is gone', undefined, false],
  ])('PO-10: is who they were: %s', async (_, changes, isCurrent) => {
    let present: object | undefined = entry();
    const tokens = { find: () => present } as unknown as TokenBook;
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer tf_some-token');
    const identity = await authenticate(metadata, { tokens, now: () => 0 });
    expect(identity.isCurrent()).toBe(true);
    present = changes && entry(changes);
    expect(identity.isCurrent()).toBe(isCurrent);
  });
});
