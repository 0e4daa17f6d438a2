import { describe, expect, it } from 'vitest';
import { ADA } from '../testing/sample-call.ts';
import { sampleContract } from '../testing/sample-contract.ts';
import { type ActingCredential, actingAccount } from './acting-account.ts';

const NOW = 1_000;
const ACTIVE: ActingCredential = { account: 'ada@tracker.example', state: 'active' };

const accountOf = (credentials: readonly string[], known: Readonly<Record<string, ActingCredential>>) => {
  const asked: string[] = [];
  const find = async (actor: typeof ADA, handle: string) => {
    asked.push(`${actor.user} ${handle}`);
    return known[handle];
  };
  return { asked, account: actingAccount({ find, now: NOW }, ADA, sampleContract({ execution: { credentials } })) };
};

describe('PO-11: whose account a call acts as', () => {
  it('is that of its credential, each once', async () => {
    const { account, asked } = accountOf(['user:b', 'tenant:a', 'user:c'], {
      'user:b': ACTIVE,
      'user:c': ACTIVE,
      'tenant:a': { account: 'acme build', state: 'active', expiresAt: NOW + 1 },
    });
    expect(await account).toBe('acme build, ada@tracker.example');
    expect(asked).toEqual(['ada tenant:a', 'ada user:b', 'ada user:c']);
  });

  it('is nobody’s, and nobody is asked, without a credential', async () => {
    const { account, asked } = accountOf([], {});
    expect(await account).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('also of a credential that only the way out injects', async () => {
    const egress = { rules: [{ host: 'api.example.com', credential: 'user:b' }], max_bytes: 9_999, max_connections: 1 };
    const contract = sampleContract();
    const injecting = { ...contract, execution: { ...contract.execution, egress } };
    const find = async () => ACTIVE;
    expect(await actingAccount({ find, now: NOW }, ADA, injecting)).toBe('ada@tracker.example');
  });

  it.each([
    ['credential_missing', 'user:b does not exist', undefined],
    ['credential_missing', 'user:b was revoked', { ...ACTIVE, state: 'revoked' }],
    ['login_required', 'user:b needs a new login', { ...ACTIVE, state: 'needs_login' }],
    ['credential_missing', 'user:b has expired', { ...ACTIVE, expiresAt: NOW }],
  ] as const)('is refused with %s: %s', async (type, message, record) => {
    const known = { 'user:a': ACTIVE, ...(record === undefined ? {} : { 'user:b': record }) };
    await expect(accountOf(['user:a', 'user:b'], known).account).rejects.toMatchObject({
      type,
      message: expect.stringContaining(message),
    });
  });

  it('a handle that is none is missing, and is not looked for', async () => {
    const { account, asked } = accountOf(['github'], {});
    await expect(account).rejects.toMatchObject({ type: 'credential_missing' });
    expect(asked).toEqual([]);
  });

  it('is no longer than a decision can hold', async () => {
    const { account } = accountOf(['user:a', 'user:b'], {
      'user:a': { account: 'x'.repeat(150), state: 'active' },
      'user:b': { account: 'y'.repeat(150), state: 'active' },
    });
    expect(await account).toHaveLength(200);
  });
});
