import type { ApprovalRecord, Approver } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchProblem, memberProblem } from './batch-rules.ts';
import { mayDecide, mayDeny, maySee } from './may-decide.ts';
import { isInScope } from './scope-of.ts';

const NOW = 1_800_000_000_000;
const RESOURCE = 'github:repo:shop/checkout#4821';

const approval = (changes: Partial<ApprovalRecord> = {}): ApprovalRecord => ({
  approvalId: 'a-1',
  actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
  toolDigest: 'd',
  argsHash: 'h',
  policyVersion: 'p',
  state: 'pending',
  callId: 'c',
  expiresAt: NOW + 3_600_000,
  risk: 'external_write',
  strength: 'confirm',
  resource: RESOURCE,
  ...changes,
});

const grace = (changes: Partial<Approver> = {}): Approver => ({
  tenant: 'acme',
  user: 'grace',
  agent: 'toolfabric-cli',
  tokenId: 'grace',
  rights: ['approvals:decide'],
  ...changes,
});

describe('a scope', () => {
  it.each([
    ['github:repo:shop/checkout', true],
    ['github:repo:shop/checkout#4821', true],
    ['github:repo:shop', true],
    ['github:repo:shop/', true],
    ['github:', true],
    ['github:repo:shop/check', false],
    ['github:repo:shop/checkout#48', false],
    ['github:repo:shop/checkout#4821/x', false],
    ['gitlab', false],
    ['', false],
  ])('PO-10: %s holds the resource: %s', (scope, held) => expect(isInScope(RESOURCE, scope)).toBe(held));

  it('holds no action that is about nothing, and no neighbour whose name begins alike', () => {
    expect(isInScope(undefined, 'github')).toBe(false);
    expect(isInScope('github:repo:shop/checkout-2', 'github:repo:shop/checkout')).toBe(false);
    expect(isInScope('github:user:bob@evil', 'github:user:bob')).toBe(false);
  });
});

describe('who may decide', () => {
  it('PO-10: a person with the right, for everything or for the scope', () => {
    expect(mayDecide(grace(), approval(), NOW)).toEqual({ type: 'grant' });
    const scoped = grace({ rights: ['approvals:decide:github:repo:shop'] });
    expect(mayDecide(scoped, approval(), NOW)).toEqual({ type: 'grant' });
  });

  it.each<[string, Partial<Approver>, Partial<ApprovalRecord>]>([
    ['nobody without a right', { rights: [] }, {}],
    [
      'nobody with another right',
      { rights: ['registry:publish', 'approvals:strong', 'approvals', 'approvals:decide '] },
      {},
    ],
    ['nobody for another scope', { rights: ['approvals:decide:github:repo:bank'] }, {}],
    [
      'nobody by scope for an action about nothing',
      { rights: ['approvals:decide:github'] },
      { resource: undefined as never },
    ],
    ['nobody with an empty scope', { rights: ['approvals:decide:'] }, {}],
    ['nobody of another tenant', { tenant: 'rival' }, {}],
    ['not the user who asked', { user: 'ada' }, {}],
    ['not the user who asked, whose name is written otherwise', { user: 'Ada' }, {}],
    ['not the user who asked, through another agent', { user: 'ada', agent: 'reviewer' }, {}],
  ])('PO-10: %s', (_, who, what) => {
    expect(mayDecide(grace(who), approval(what), NOW).type).toBe('refuse');
    expect(mayDeny(grace(who), approval(what)).type).toBe('refuse');
  });

  it('the asker never decides, whatever their token holds', () => {
    const rights = ['approvals:decide', 'approvals:strong'];
    const asker = grace({ user: 'ada', rights, freshAt: NOW });
    expect(mayDecide(asker, approval(), NOW).type).toBe('refuse');
    expect(mayDecide(asker, approval({ strength: 'strong' }), NOW).type).toBe('refuse');
  });

  it('sees what they could decide, and what they asked for, and nothing else', () => {
    expect(maySee(grace(), approval())).toBe(true);
    expect(maySee(grace({ user: 'ada', rights: [] }), approval())).toBe(true);
    expect(maySee(grace({ user: 'ada', rights: [], tenant: 'rival' }), approval())).toBe(false);
    expect(maySee(grace({ rights: [] }), approval())).toBe(false);
    expect(maySee(grace({ rights: ['approvals:decide:github:repo:bank'] }), approval())).toBe(false);
  });
});

describe('a strong approval', () => {
  const strong = (grants: ApprovalRecord['grants'] = []) => approval({ strength: 'strong', grants });
  const rights = ['approvals:decide', 'approvals:strong'];

  it('needs the right to it', () => {
    expect(mayDecide(grace({ freshAt: NOW }), strong(), NOW).type).toBe('refuse');
    expect(mayDeny(grace(), strong()).type).toBe('grant');
  });

  it('is given by one person who has just proved who they are', () => {
    expect(mayDecide(grace({ rights, freshAt: NOW - 299_000 }), strong(), NOW).type).toBe('grant');
    expect(mayDecide(grace({ rights, freshAt: NOW - 301_000 }), strong(), NOW).type).toBe('first_of_two');
    expect(mayDecide(grace({ rights, freshAt: NOW + 60_000 }), strong(), NOW).type).toBe('first_of_two');
  });

  it('by token needs two persons, and two tokens of one are one', () => {
    expect(mayDecide(grace({ rights }), strong(), NOW).type).toBe('first_of_two');
    const first = { user: 'grace', tokenId: 'grace', at: NOW };
    expect(mayDecide(grace({ rights, tokenId: 'other' }), strong([first]), NOW).type).toBe('first_of_two');
    expect(mayDecide(grace({ rights, user: 'Grace' }), strong([first]), NOW).type).toBe('first_of_two');
    expect(mayDecide(grace({ rights, user: 'linus' }), strong([first]), NOW).type).toBe('grant');
  });
});

describe('a batch', () => {
  const batch = {
    callIds: ['a', 'b'],
    scope: 'github:repo:shop',
    risk: 'external_write' as const,
    until: NOW + 60_000,
  };

  it.each<[string, Partial<typeof batch> | { risk: 'irreversible' | 'privileged' }]>([
    ['irreversible actions', { risk: 'irreversible' }],
    ['privileged actions', { risk: 'privileged' }],
    ['more than a hundred calls', { callIds: Array.from({ length: 101 }, (_, n) => String(n)) }],
    ['a call twice', { callIds: ['a', 'a'] }],
    ['a window that is over', { until: NOW }],
    ['a window without end', { until: NOW + 3_600_001 }],
  ])('PO-5: there is none for %s', (_, changes) => {
    expect(batchProblem(batch, NOW)).toBeUndefined();
    expect(batchProblem({ ...batch, ...changes }, NOW)).toBeTypeOf('string');
  });

  it.each<[string, Partial<ApprovalRecord>]>([
    ['of another risk', { risk: 'workspace_write' }],
    ['whose risk is not known', { risk: undefined as never }],
    ['that needs more', { strength: 'strong' }],
    ['of another scope', { resource: 'github:repo:bank/vault#1' }],
    ['whose scope only begins alike', { resource: 'github:repo:shopping/checkout' }],
    ['about nothing', { resource: undefined as never }],
  ])('PO-5: holds no approval %s', (_, changes) => {
    expect(memberProblem(approval(), batch)).toBeUndefined();
    expect(memberProblem(approval(changes), batch)).toBeTypeOf('string');
  });

  it('whose scope is not that of the right is no wider than the right', () => {
    fc.assert(
      fc.property(fc.constantFrom('github:repo:shop', 'github:repo', 'github'), (scope) => {
        const who = grace({ rights: [`approvals:decide:${scope}`] });
        const member = approval({ resource: 'gitlab:repo:shop/x' });
        expect(mayDecide(who, member, NOW).type).toBe('refuse');
      }),
    );
  });
});
