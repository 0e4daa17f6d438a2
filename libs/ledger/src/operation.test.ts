import type { CallState } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { type DeniedOutcome, errorOutcome, resultOf } from './call.ts';
import { judgeOperation, operationAfter } from './operation.ts';
import { CALL_ID, failure, receipt, sampleCall, unsure } from './testing/samples.ts';

const OTHER = `2969-${'z'.repeat(26)}`;

describe('a call that takes its operation', () => {
  it.each([
    ['held', CALL_ID, 'args-1', 'held'],
    ['held', CALL_ID, 'args-2', 'held'],
    ['held', OTHER, 'args-1', 'joined'],
    ['held', OTHER, 'args-2', 'conflict'],
    ['done', CALL_ID, 'args-1', 'held'],
    ['done', OTHER, 'args-1', 'joined'],
    ['done', OTHER, 'args-2', 'conflict'],
    ['free', CALL_ID, 'args-1', 'take_over'],
    ['free', OTHER, 'args-1', 'take_over'],
    ['free', OTHER, 'args-2', 'take_over'],
  ] as const)('RE-1: finds it %s by %s with %s: %s', (state, callId, argsHash, verdict) => {
    const op = { callId, tenant: 'acme', argsHash, state, expiresAt: 0 };
    expect(judgeOperation(op, { callId: CALL_ID, argsHash: 'args-1' })).toBe(verdict);
  });
});

describe('an operation after the end of its call', () => {
  const denied: DeniedOutcome = { ...errorOutcome('approval_denied'), status: 'denied' };

  it.each<[string, CallState, Parameters<typeof resultOf>[1], string]>([
    ['ok', 'ok', receipt(), 'done'],
    ['ok without an effect', 'ok', receipt({ sideEffect: 'none' }), 'done'],
    ['an error before the effect', 'error', failure(), 'free'],
    ['an error with a possible effect', 'error', failure({ sideEffect: 'possible' }), 'done'],
    ['an error after the effect', 'error', failure({ sideEffect: 'confirmed' }), 'done'],
    ['unknown', 'unknown', unsure, 'held'],
    ['unknown that claims no effect', 'unknown', { ...unsure, sideEffect: 'none' }, 'held'],
    ['denied', 'denied', denied, 'free'],
    ['cancelled', 'cancelled', errorOutcome('cancelled'), 'free'],
    ['expired', 'expired', errorOutcome('expired'), 'free'],
    ['dead_letter', 'dead_letter', errorOutcome('dead_letter'), 'free'],
  ])('RE-1: %s: %4$s', (_name, state, outcome, expected) => {
    const call = sampleCall({ state });
    expect(operationAfter({ ...call, result: resultOf(call, outcome, 1) })).toBe(expected);
  });

  it('without a result nothing is known, so that nobody else may take it (L1)', () => {
    expect(operationAfter(sampleCall({ state: 'error' }))).toBe('done');
  });
});
