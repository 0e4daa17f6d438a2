import type { CallRecord, Claim, Outcome, ResultMessage } from '@toolfabric/contract';
import { errorOutcome, isFinal, stateOfOutcome, unknownOutcome } from './call.ts';
import { moveClaim } from './claim.ts';

/** What the router does about the end of an execution (protocol 5, 8). */
export type Settlement =
  | { readonly type: 'end'; readonly outcome: Outcome; readonly attempt: number }
  /** A receipt for an execution that was given up: first the claim takes it as it came, then the call its end. */
  | { readonly type: 'resolve'; readonly receipt: Outcome; readonly outcome: Outcome; readonly attempt: number }
  /** Nothing changes; the result is kept as late evidence. */
  | { readonly type: 'late' }
  /** Nothing to do beyond closing again what may be half closed. */
  | { readonly type: 'settled' }
  /** The execution goes on. */
  | { readonly type: 'wait' };

/**
 * What the contract says about an outcome that a worker stored. Pure, so that every router derives the same end from
 * it; it makes an error of an `ok` at most.
 */
export type OutcomeJudge = (outcome: Outcome) => Outcome;

/**
 * The end that an outcome makes. A tool that did nothing, and whose answer the contract refuses, proves nothing about an
 * earlier attempt that may still arrive: its operation is not free (doubt, protocol 5).
 */
export const judgeEnd = (claim: Claim | undefined, outcome: Outcome, judge: OutcomeJudge): Outcome => {
  const judged = judge(outcome);
  const isRefused = judged.status !== outcome.status;
  return isRefused && claim?.doubt === true && judged.sideEffect === 'none'
    ? { ...judged, sideEffect: 'possible' }
    : judged;
};

const isSameEnd = (call: CallRecord, result: ResultMessage | undefined, judge: OutcomeJudge): boolean =>
  result === undefined ||
  (call.result?.attempt === result.epoch && call.state === stateOfOutcome(judge(result.outcome))) ||
  (call.result?.attempt === 0 && result.by === 'router');

const claimless = (call: CallRecord, result: ResultMessage | undefined, judge: OutcomeJudge): Settlement => {
  if (isFinal(call.state)) return isSameEnd(call, result, judge) ? { type: 'settled' } : { type: 'late' };
  if (result === undefined || result.epoch !== call.epoch) return { type: 'wait' };
  const attempt = result.by === 'router' ? 0 : result.epoch;
  return { type: 'end', outcome: judge(result.outcome), attempt };
};

const endOf = (call: CallRecord, outcome: Outcome, attempt: number): Settlement =>
  call.state === stateOfOutcome(outcome) ? { type: 'settled' } : { type: 'end', outcome, attempt };

const claimed = (
  call: CallRecord,
  claim: Claim | undefined,
  result: ResultMessage | undefined,
  judge: OutcomeJudge,
): Settlement => {
  if (isFinal(call.state)) return isSameEnd(call, result, judge) ? { type: 'settled' } : { type: 'late' };
  if (claim === undefined) return result === undefined ? { type: 'wait' } : { type: 'late' };
  if (result !== undefined && result.epoch < claim.epoch) return { type: 'late' };
  const unknown = claim.state === 'orphaned' || (claim.state === 'done' && claim.outcome?.status === 'unknown');
  if (unknown && result !== undefined && result.epoch === claim.epoch && result.outcome.status !== 'unknown')
    return moveClaim(claim, { type: 'resolve', outcome: result.outcome }) === undefined
      ? { type: 'late' }
      : {
          type: 'resolve',
          receipt: result.outcome,
          outcome: judgeEnd(claim, result.outcome, judge),
          attempt: result.epoch,
        };
  switch (claim.state) {
    case 'done':
      if (claim.outcome === undefined) return { type: 'settled' };
      return claim.toldBy === undefined
        ? endOf(call, judgeEnd(claim, claim.outcome, judge), claim.epoch)
        : endOf(call, claim.outcome, claim.toldBy === 'person' ? 0 : claim.epoch);
    case 'cancelled':
      return { type: 'end', outcome: errorOutcome(claim.reason ?? 'cancelled'), attempt: 0 };
    case 'orphaned':
      if (call.state === 'unknown') return { type: 'settled' };
      return {
        type: 'end',
        outcome: unknownOutcome('The worker was lost after the action began; whether it happened is not known.'),
        attempt: claim.epoch,
      };
    default:
      return { type: 'wait' };
  }
};

/**
 * The terminal state is derived, never decided anew: for a claimless call from its result subject, otherwise from the
 * claim. `result` is what stands on (or came from) the result subject, if anything; `judge` is the contract's own.
 */
export const deriveSettlement = (
  call: CallRecord,
  claim: Claim | undefined,
  result: ResultMessage | undefined,
  judge: OutcomeJudge = (outcome) => outcome,
): Settlement => (call.claim === 'none' ? claimless(call, result, judge) : claimed(call, claim, result, judge));
