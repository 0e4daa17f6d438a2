import type { CallRecord, Claim, Outcome, ResultMessage } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { advanceCall, errorOutcome, resultOf, stateOfOutcome, unknownOutcome } from './call.ts';
import { deriveSettlement, type Settlement } from './settlement.ts';
import { CALL_STATES, failure, receipt, resultMessage, sampleCall, sampleClaim, unsure } from './testing/samples.ts';

/** `end ok 2`: the outcome's status and the attempt; the other settlements carry nothing. */
const shown = (settlement: Settlement): string =>
  'outcome' in settlement
    ? `${settlement.type} ${stateOfOutcome(settlement.outcome)} ${settlement.attempt}`
    : settlement.type;

const ended = (call: CallRecord, outcome: Outcome, attempt: number): CallRecord =>
  advanceCall(call, { type: 'end', outcome, attempt, at: 5_000 }) as CallRecord;

const none = undefined;

describe('a claimless call ends by its result subject', () => {
  const call = sampleCall({ claim: 'none', effect: 'none' });
  const ok = receipt({ sideEffect: 'none' });
  const byRouter = resultMessage(errorOutcome('cancelled'), 1, 'router');
  const final = ended(call, ok, 1);
  const cancelled = ended(call, errorOutcome('cancelled'), 0);

  it.each<[string, CallRecord, ResultMessage | undefined, string]>([
    ['queued, no result', call, none, 'wait'],
    ['queued, its result', call, resultMessage(ok, 1), 'end ok 1'],
    ['queued, an error as its result', call, resultMessage(failure(), 1), 'end error 1'],
    ['queued, the router was first on the subject', call, byRouter, 'end cancelled 0'],
    ['queued, a result of another epoch', call, resultMessage(ok, 2), 'wait'],
    ['final, no result', final, none, 'settled'],
    ['final, the same result again', final, resultMessage(ok, 1), 'settled'],
    ['final, another result', final, resultMessage(failure(), 1), 'late'],
    ['final, a result of another epoch', final, resultMessage(ok, 2), 'late'],
    ['cancelled, the cancel again', cancelled, byRouter, 'settled'],
    ['cancelled, the result of the worker', cancelled, resultMessage(ok, 1), 'late'],
  ])('%s: %4$s', (_name, stored, result, expected) => {
    expect(shown(deriveSettlement(stored, undefined, result))).toBe(expected);
  });
});

describe('any other call ends by its claim', () => {
  const queued = sampleCall({ epoch: 2 });
  const unknown = ended(queued, unknownOutcome('lost'), 2);
  const final = ended(queued, receipt(), 2);
  const expired = ended(queued, errorOutcome('expired'), 0);
  const done = sampleClaim('done', { outcome: receipt() });
  const doneUnknown = sampleClaim('done', { outcome: unsure });
  const orphaned = sampleClaim('orphaned');
  const cancelled = sampleClaim('cancelled', { reason: 'expired' });
  const inDoubt = sampleClaim('orphaned', { doubt: true });
  const unsureInDoubt = sampleClaim('done', { outcome: unsure, doubt: true });
  const late = resultMessage(receipt(), 1);
  const next = resultMessage(receipt(), 3);
  const ok = resultMessage(receipt(), 2);
  const bad = resultMessage(failure(), 2);
  const lost = resultMessage(unsure, 2);

  it.each<[string, CallRecord, Claim | undefined, ResultMessage | undefined, string]>([
    ['nobody took it', queued, none, none, 'wait'],
    ['nobody took it, yet there is a result', queued, none, ok, 'late'],
    ['released', queued, sampleClaim('released'), none, 'wait'],
    ['released, a result of the epoch before', queued, sampleClaim('released'), late, 'late'],
    ['claimed', queued, sampleClaim('claimed'), none, 'wait'],
    ['claimed, a result of this epoch', queued, sampleClaim('claimed'), ok, 'wait'],
    ['claimed, a result of the epoch before', queued, sampleClaim('claimed'), late, 'late'],
    ['claimed, a result of an epoch that is not there yet', queued, sampleClaim('claimed'), next, 'wait'],
    ['started', queued, sampleClaim('started'), none, 'wait'],
    ['started, a result of this epoch', queued, sampleClaim('started'), ok, 'wait'],
    ['done', queued, done, none, 'end ok 2'],
    ['done, with its result', queued, done, ok, 'end ok 2'],
    ['done: the claim counts, not the message', queued, done, bad, 'end ok 2'],
    ['done, a result of the epoch before', queued, done, late, 'late'],
    ['done unknown', queued, doneUnknown, none, 'end unknown 2'],
    ['done unknown, with its result', queued, doneUnknown, lost, 'end unknown 2'],
    ['done unknown, and then a receipt', queued, doneUnknown, ok, 'resolve ok 2'],
    ['done without an outcome', queued, sampleClaim('done'), none, 'settled'],
    ['cancelled', queued, cancelled, none, 'end expired 0'],
    ['cancelled without a reason', queued, sampleClaim('cancelled'), none, 'end cancelled 0'],
    ['cancelled, a result of this epoch', queued, cancelled, ok, 'end expired 0'],
    ['orphaned', queued, orphaned, none, 'end unknown 2'],
    ['orphaned, a receipt of this epoch', queued, orphaned, ok, 'resolve ok 2'],
    ['orphaned, an error of this epoch', queued, orphaned, bad, 'resolve error 2'],
    ['orphaned, a result that does not know either', queued, orphaned, lost, 'end unknown 2'],
    ['orphaned, a receipt of the epoch before', queued, orphaned, late, 'late'],
    ['orphaned in doubt, a receipt of this epoch', queued, inDoubt, ok, 'resolve ok 2'],
    ['orphaned in doubt, an error without an effect: proves nothing', queued, inDoubt, bad, 'late'],
    ['unknown, done unknown in doubt, an error without an effect', unknown, unsureInDoubt, bad, 'late'],
    ['unknown, orphaned', unknown, orphaned, none, 'settled'],
    ['unknown, orphaned, the late receipt', unknown, orphaned, ok, 'resolve ok 2'],
    ['unknown, done unknown', unknown, doneUnknown, none, 'settled'],
    ['unknown, done unknown, the late receipt', unknown, doneUnknown, ok, 'resolve ok 2'],
    ['unknown, the claim was resolved', unknown, done, none, 'end ok 2'],
    ['unknown, released again', unknown, sampleClaim('released', { epoch: 3 }), none, 'wait'],
    ['final', final, done, none, 'settled'],
    ['final, the same result again', final, done, ok, 'settled'],
    ['final, another result of this epoch', final, done, bad, 'late'],
    ['final, a receipt of the epoch before', final, done, late, 'late'],
    ['expired, then the receipt of the paused worker', expired, cancelled, ok, 'late'],
  ])('RE-2: %s: %5$s', (_name, call, claim, result, expected) => {
    expect(shown(deriveSettlement(call, claim, result))).toBe(expected);
  });

  it('RS-1: an orphan may have had its effect', () => {
    const settlement = deriveSettlement(queued, orphaned, undefined);
    expect(settlement).toMatchObject({ outcome: { status: 'unknown', sideEffect: 'possible' } });
  });

  it('RE-3: no claim and no result changes a final call (L2)', () => {
    const claims = [none, done, doneUnknown, orphaned, cancelled, sampleClaim('claimed'), sampleClaim('started')];
    for (const state of CALL_STATES.slice(5))
      for (const claim of claims)
        for (const result of [none, late, ok, bad, lost])
          expect(['settled', 'late']).toContain(deriveSettlement(sampleCall({ state, epoch: 2 }), claim, result).type);
  });
});

describe('RG-8: the end of an outcome that its contract refuses', () => {
  const queued = sampleCall({ epoch: 2 });
  const refuse = (outcome: Outcome): Outcome =>
    outcome.status === 'ok'
      ? {
          ...outcome,
          status: 'error',
          error: { type: 'reported_failure', layer: 'adapter', message: 'm', retryable: false },
        }
      : outcome;
  const read = receipt({ sideEffect: 'none' });
  const end = (claim: Claim, result?: ResultMessage) => deriveSettlement(queued, claim, result, refuse);

  it('L3: is an error, and keeps the effect and its proof', () => {
    expect(end(sampleClaim('done', { outcome: receipt() }))).toMatchObject({
      type: 'end',
      outcome: { status: 'error', sideEffect: 'confirmed', evidence: [{ ref: '7' }] },
      attempt: 2,
    });
  });

  it('is the same from the claim, from the result, and once it is stored', () => {
    const done = sampleClaim('done', { outcome: receipt() });
    const result = resultMessage(receipt(), 2);
    const derived = end(done, result);
    expect(derived).toEqual(end(done));
    const stored = ended(queued, (derived as Extract<Settlement, { outcome: Outcome }>).outcome, 2);
    expect(deriveSettlement(stored, done, result, refuse)).toEqual({ type: 'settled' });
    expect(deriveSettlement(stored, done, undefined, refuse)).toEqual({ type: 'settled' });
  });

  it('of a claimless call too', () => {
    const call = sampleCall({ claim: 'none', effect: 'none' });
    const result = resultMessage(read, 1);
    const derived = deriveSettlement(call, undefined, result, refuse);
    expect(derived).toMatchObject({ type: 'end', outcome: { status: 'error', sideEffect: 'none' } });
    const stored = ended(call, refuse(read), 1);
    expect(deriveSettlement(stored, undefined, result, refuse)).toEqual({ type: 'settled' });
  });

  it('a late receipt goes into the claim as it came, and into the call as it is judged', () => {
    expect(end(sampleClaim('orphaned'), resultMessage(receipt(), 2))).toMatchObject({
      type: 'resolve',
      receipt: { status: 'ok' },
      outcome: { status: 'error', sideEffect: 'confirmed' },
    });
  });

  it('L1: in doubt does not say that nothing happened, so its operation is not free', () => {
    const inDoubt = sampleClaim('done', { outcome: read, doubt: true });
    expect(end(inDoubt)).toMatchObject({ outcome: { status: 'error', sideEffect: 'possible' } });
    expect(end(sampleClaim('done', { outcome: read }))).toMatchObject({ outcome: { sideEffect: 'none' } });
  });

  it('what is unknown, or an error already, stays', () => {
    expect(end(sampleClaim('done', { outcome: unsure }))).toMatchObject({ outcome: unsure });
    expect(end(sampleClaim('done', { outcome: failure() }))).toMatchObject({ outcome: failure() });
  });
});

describe('RE-2: an outcome that the tool did not answer itself', () => {
  const refusing = (outcome: Outcome): Outcome => ({ ...outcome, status: 'error', error: failure().error });
  const unknownCall = sampleCall({ state: 'unknown', epoch: 2 });
  const told = (toldBy: 'person' | 'query') => sampleClaim('done', { outcome: receipt(), toldBy });

  it.each(['person', 'query'] as const)('by a %s is not judged by what the contract promises', (by) => {
    expect(deriveSettlement(unknownCall, told(by), undefined, refusing)).toMatchObject({
      type: 'end',
      outcome: receipt(),
      attempt: by === 'person' ? 0 : 2,
    });
  });

  it('is kept when the receipt comes after all: that one is late evidence', () => {
    const late = resultMessage(receipt(), 2);
    const known = sampleCall({ state: 'ok', epoch: 2, result: resultOf(unknownCall, receipt(), 0) });
    expect(deriveSettlement(known, told('person'), late)).toEqual({ type: 'late' });
    expect(deriveSettlement(unknownCall, told('person'), late)).toMatchObject({ type: 'end', attempt: 0 });
  });
});
