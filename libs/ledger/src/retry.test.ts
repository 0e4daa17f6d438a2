import { ERROR_TABLE, type ErrorType, MAX_EPOCH, type Outcome } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { errorOutcome } from './call.ts';
import { planRetry } from './retry.ts';
import { CALL_ID, receipt, sampleCall, unsure } from './testing/samples.ts';

const read = sampleCall({ effect: 'none' });
const busy = errorOutcome('unavailable');
const at = { now: 2_000, firstMs: 400 };
const asking = (retryAfterMs: number): Outcome => {
  const { error } = busy;
  return error === undefined ? busy : { ...busy, error: { ...error, retryAfterMs } };
};
const TRIED: readonly ErrorType[] = [
  'unavailable',
  'overloaded',
  'worker_drained',
  'workspace_busy',
  'workspace_moved',
];

describe('RT-8: what the fabric tries again by itself', () => {
  it.each(Object.keys(ERROR_TABLE) as ErrorType[])('%s', (type) => {
    const retry = planRetry(read, errorOutcome(type), 1, at);
    expect(retry?.error).toBe(TRIED.includes(type) ? type : undefined);
  });

  it('a read, and a write that its contract calls idempotent; nothing else', () => {
    expect(planRetry(read, busy, 1, at)).toMatchObject({ epoch: 2, elsewhere: false });
    expect(planRetry(sampleCall({ rerunnable: true }), busy, 1, at)).toMatchObject({ epoch: 2 });
    expect(planRetry(sampleCall(), busy, 1, at)).toBeUndefined();
    expect(planRetry(sampleCall({ effect: 'workspace' }), busy, 1, at)).toBeUndefined();
  });

  it.each<[string, Outcome]>([
    ['it worked', receipt()],
    ['it is unknown', unsure],
    ['something may have happened', { ...busy, sideEffect: 'possible' }],
    ['something did happen', { ...busy, sideEffect: 'confirmed' }],
    [
      'the tool says that it does not pass',
      { ...busy, error: { ...errorOutcome('unavailable').error, retryable: false } as never },
    ],
    ['it failed without a type', { ...busy, error: undefined } as never],
  ])('not when %s', (_name, outcome) => {
    expect(planRetry(read, outcome, 1, at)).toBeUndefined();
  });

  it('not what the router ended, nor another epoch, nor what is not queued', () => {
    expect(planRetry(read, busy, 0, at)).toBeUndefined();
    expect(planRetry(read, busy, 2, at)).toBeUndefined();
    expect(planRetry({ ...read, state: 'unknown' }, busy, 1, at)).toBeUndefined();
  });

  it('within the epochs of a call', () => {
    const tries = [];
    for (let epoch = 1, retry = planRetry({ ...read, epoch }, busy, epoch, at); retry; ) {
      tries.push(retry.epoch);
      epoch = retry.epoch;
      retry = planRetry({ ...read, epoch }, busy, epoch, at);
    }
    expect(tries).toEqual([2, MAX_EPOCH]);
  });

  it('pauses grow, have jitter, and are the same on every router', () => {
    const pauses = Array.from({ length: 200 }, (_, index) => {
      const callId = `${CALL_ID.slice(0, -3)}${String(index).padStart(3, '0')}`;
      const of = (epoch: number) => planRetry({ ...read, callId, epoch }, busy, epoch, at)?.pauseMs ?? 0;
      expect(of(1)).toBe(of(1));
      return [of(1), of(2)] as const;
    });
    for (const [first, second] of pauses) {
      expect(first).toBeGreaterThanOrEqual(200);
      expect(first).toBeLessThanOrEqual(600);
      expect(second).toBeGreaterThanOrEqual(400);
      expect(second).toBeLessThanOrEqual(1_200);
    }
    expect(new Set(pauses.map(([first]) => first)).size).toBeGreaterThan(100);
  });

  it('waits at least as long as it was asked to, and lets the caller know when that is long', () => {
    const { pauseMs = 0 } = planRetry(read, asking(3_000), 1, at) ?? {};
    expect(pauseMs).toBeGreaterThanOrEqual(3_200);
    expect(planRetry(read, asking(30_000), 1, at)).toBeUndefined();
  });

  it('begins before the deadline or not at all', () => {
    const { pauseMs = 0 } = planRetry(read, busy, 1, at) ?? {};
    expect(planRetry({ ...read, deadline: at.now + pauseMs + 1 }, busy, 1, at)).toBeDefined();
    expect(planRetry({ ...read, deadline: at.now + pauseMs }, busy, 1, at)).toBeUndefined();
  });

  it('goes elsewhere where its worker is gone or has the workspace no more', () => {
    for (const type of TRIED)
      expect(planRetry(read, errorOutcome(type), 1, at)?.elsewhere, type).toBe(
        type === 'worker_drained' || type === 'workspace_moved',
      );
  });
});
