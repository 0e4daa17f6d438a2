import type { Actor, CallRecord, TaskRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { checkCallScope, checkTaskScope } from './task-scope.ts';

const owner: Actor = { tenant: 'acme', user: 'ann', agent: 'coder' };
const task = (state: TaskRecord['state']): TaskRecord => ({
  taskId: `t-${'0'.repeat(26)}`,
  actor: owner,
  title: 'secret title',
  state,
  createdAt: 0,
});

const sent = (check: () => unknown) => {
  try {
    check();
  } catch (error) {
    if (error instanceof FabricError) return error.toToolError();
    throw error;
  }
  throw new Error('was not refused');
};

const STRANGERS: [string, Actor][] = [
  ['another tenant', { ...owner, tenant: 'other' }],
  ['another user', { ...owner, user: 'bob' }],
  ['another agent of the same user', { ...owner, agent: 'reviewer' }],
];

describe('checkTaskScope', () => {
  it('the owner may act in an open task', () => {
    expect(checkTaskScope(task('open'), { ...owner })).toEqual(task('open'));
  });

  it.each(STRANGERS)('RS-4: %s cannot tell a task from none, in whichever state it is', (_, stranger) => {
    const none = sent(() => checkTaskScope(undefined, stranger));
    expect(none.type).toBe('not_found');
    for (const state of ['preparing', 'open', 'ended'] as const) {
      expect(sent(() => checkTaskScope(task(state), stranger))).toEqual(none);
    }
  });

  it('the owner learns that it ended, and may come again while it is made', () => {
    expect(sent(() => checkTaskScope(task('ended'), owner))).toMatchObject({ type: 'task_ended', retryable: false });
    expect(sent(() => checkTaskScope(task('preparing'), owner))).toMatchObject({
      type: 'unavailable',
      retryable: true,
      retryAfterMs: 500,
    });
  });
});

describe('checkCallScope', () => {
  const call = { callId: 'x', actor: owner } as CallRecord;

  it('the owner sees the call', () => expect(checkCallScope(call, owner)).toBe(call));

  it.each(STRANGERS)('RS-4: %s cannot tell a call from none', (_, stranger) => {
    expect(sent(() => checkCallScope(call, stranger))).toEqual(sent(() => checkCallScope(undefined, stranger)));
  });
});
