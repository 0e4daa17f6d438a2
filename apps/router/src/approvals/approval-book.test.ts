import type { ApprovalRecord } from '@toolfabric/contract';
import { openKey } from '@toolfabric/ledger';
import type { Changed } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../testing/hand-clock.ts';
import { ADA } from '../testing/sample-call.ts';
import { ApprovalBook } from './approval-book.ts';

const HOUR_MS = 3_600_000;
const CALL = `2969-${'a'.repeat(26)}`;

const open = () => {
  const clock = new HandClock();
  const changes: Changed<ApprovalRecord>[] = [];
  const book = new ApprovalBook(async (revision) => changes.find((change) => change.revision > revision), clock);
  const put = (approvalId: string, state: ApprovalRecord['state'] = 'pending') => {
    const value = {
      ...{ approvalId, actor: ADA, callId: CALL, toolDigest: 'd', argsHash: 'h', policyVersion: 'p', state },
      expiresAt: clock.now() + HOUR_MS,
    };
    changes.push({ key: `approval.acme.${approvalId}`, revision: changes.length + 1, value });
  };
  return { clock, book, put };
};

describe('the book of approvals', () => {
  it('L5: lets a call rest while a person is asked, and looks at it once a minute all the same', async () => {
    const { clock, book, put } = open();
    put('a');
    await book.refresh();
    expect(book.pending.map(({ approvalId }) => approvalId)).toEqual(['a']);
    expect(book.isResting(openKey('acme', CALL))).toBe(true);
    clock.pass(60_001);
    expect(book.isResting(openKey('acme', CALL))).toBe(false);
  });

  it('forgets what was never answered when it is no longer stored: nobody is told that it is gone', async () => {
    const { clock, book, put } = open();
    put('a');
    await book.refresh();
    clock.wall += 25 * HOUR_MS;
    clock.pass(25 * HOUR_MS);
    put('b');
    await book.refresh();
    expect(book.all).toHaveLength(2);
    clock.wall += HOUR_MS / 2;
    clock.pass(HOUR_MS / 2);
    await book.refresh();
    expect(book.all.map(({ approvalId }) => approvalId)).toEqual(['b']);
  });
});
