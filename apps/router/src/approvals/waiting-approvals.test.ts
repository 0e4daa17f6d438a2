import type { ApprovalRecord } from '@toolfabric/contract';
import { parseQuotas, type RouterShare } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { approvalKey } from '@toolfabric/ledger';
import type { Changed } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../testing/hand-clock.ts';
import { ADA } from '../testing/sample-call.ts';
import { ApprovalBook } from './approval-book.ts';
import { WaitingApprovals } from './waiting-approvals.ts';

const HOUR_MS = 3_600_000;

const open = (quotas: object, share: RouterShare = { routers: 1, rank: 0 }) => {
  const clock = new HandClock();
  const changes: Changed<ApprovalRecord>[] = [];
  const book = new ApprovalBook(async (revision) => changes.find((change) => change.revision > revision), clock);
  const config = parseQuotas({ default: quotas });
  const waiting = new WaitingApprovals({ book, config, clock, share: () => share });
  /** As it stands in the store from now on. */
  const store = (approvalId: string, state: ApprovalRecord['state'] = 'pending', agent = 'coder') => {
    const actor = { ...ADA, agent };
    const value = {
      ...{ approvalId, actor, callId: `2969-${approvalId}`, toolDigest: 'd', argsHash: 'h', policyVersion: 'p', state },
      expiresAt: clock.now() + HOUR_MS,
    };
    changes.push({ key: approvalKey(ADA.tenant, approvalId), revision: changes.length + 1, value });
  };
  const enter = async (approvalId: string, inPlaceOf?: string, agent = 'coder'): Promise<string> => {
    try {
      await waiting.enter({ actor: { ...ADA, agent }, approvalId }, inPlaceOf);
      return 'in';
    } catch (thrown) {
      return thrown instanceof FabricError ? thrown.type : 'nothing typed';
    }
  };
  return { clock, waiting, store, enter };
};

describe('RT-6: calls that wait for a person', () => {
  it('are counted from the moment that they are let in, stored or not, and once', async () => {
    const { store, enter } = open({ approvals: 2 });
    expect([await enter('a'), await enter('a'), await enter('b'), await enter('c')]).toEqual([
      ...['in', 'in', 'in', 'rate_limited'],
    ]);
    store('a');
    expect([await enter('a'), await enter('c')]).toEqual(['in', 'rate_limited']);
  });

  it('leave room when they are answered, are over, were refused, or were lost on the way', async () => {
    const { clock, waiting, store, enter } = open({ approvals: 1 });
    store('a');
    expect(await enter('b')).toBe('rate_limited');
    store('a', 'denied');
    expect(await enter('b')).toBe('in');
    waiting.leave('b');
    expect(await enter('c')).toBe('in');
    clock.pass(30_001);
    expect(await enter('d')).toBe('in');
    store('d');
    expect(await enter('e')).toBe('rate_limited');
    clock.wall += HOUR_MS;
    expect(await enter('e')).toBe('in');
  });

  it('are bounded for one agent and user beside what the tenant may have', async () => {
    const { enter } = open({ approvals: 3, approvalsPerActor: 2 });
    expect([await enter('a'), await enter('b'), await enter('c')]).toEqual(['in', 'in', 'rate_limited']);
    expect(await enter('c', undefined, 'other')).toBe('in');
    expect(await enter('d', undefined, 'other')).toBe('rate_limited');
  });

  it('of two routers are no more than the quota together', async () => {
    const first = open({ approvals: 3 }, { routers: 2, rank: 0 });
    const second = open({ approvals: 3 }, { routers: 2, rank: 1 });
    expect([await first.enter('a'), await first.enter('b'), await first.enter('c')]).toEqual([
      ...['in', 'in', 'rate_limited'],
    ]);
    expect([await second.enter('d'), await second.enter('e')]).toEqual(['in', 'rate_limited']);
  });

  it('one in the place of another needs no more room than that had', async () => {
    const { store, enter } = open({ approvals: 1 });
    store('a');
    expect([await enter('b'), await enter('b', 'a')]).toEqual(['rate_limited', 'in']);
  });
});
