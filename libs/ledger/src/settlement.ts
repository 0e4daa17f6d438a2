import type { CallRecord, Claim, Outcome, ResultMessage } from '@toolfabric/contract';
import { errorOutcome, isFinal, stateOfOutcome, unknownOutcome } from './call.ts';
import { moveClaim } from './claim.ts';

/** What the router does about the end of an execution (protocol 5, 8). */
export type Settlement =
  | { readonly type: 'end'; readonly outcome: Outcome; readonly attempt: number }
  /** A receipt for an execution that was given up: first the claim, then the call. */
  | { readonly type: 'resolve'; readonly outcome: Outcome; readonly attempt: number }
  /** Nothing changes; the result is kept as late evidence. */
  | { readonly type: 'late' }
  /** Nothing to do beyond closing again what may be half closed. */
  | { readonly type: 'settled' }
  /** The execution goes on. */
  | { readonly type: 'wait' };

const isSameEnd = (call: CallRecord, result: ResultMessage | undefined): boolean =>
  result === undefined ||
  (call.result?.attempt === result.epoch && call.state === stateOfOutcome(result.outcome)) ||
  (call.result?.attempt === 0 && result.by === 'router');

const claimless = (call: CallRecord, result: ResultMessage | undefined): Settlement => {
  if (isFinal(call.state)) return isSameEnd(call, result) ? { type: 'settled' } : { type: 'late' };
  if (result === undefined || result.epoch !== call.epoch) return { type: 'wait' };
  const attempt = result.by === 'router' ? 0 : result.epoch;
  return { type: 'end', outcome: result.outcome, attempt };
};

const claimed = (call: CallRecord, claim: Claim | undefined, result: ResultMessage | undefined): Settlement => {
  if (isFinal(call.state)) return isSameEnd(call, result) ? { type: 'settled' } : { type: 'late' };
  if (claim === undefined) return result === undefined ? { type: 'wait' } : { type: 'late' };
  if (result !== undefined && result.epoch < claim.epoch) return { type: 'late' };
  const unknown = claim.state === 'orphaned' || (claim.state === 'done' && claim.outcome?.status === 'unknown');
  if (unknown && result !== undefined && result.epoch === claim.epoch && result.outcome.status !== 'unknown')
    return moveClaim(claim, { type: 'resolve', outcome: result.outcome }) === undefined
      ? { type: 'late' }
      : { type: 'resolve', outcome: result.outcome, attempt: result.epoch };
  switch (claim.state) {
    case 'done':
      if (claim.outcome === undefined || call.state === stateOfOutcome(claim.outcome)) return { type: 'settled' };
      return { type: 'end', outcome: claim.outcome, attempt: claim.epoch };
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
 * claim. `result` is what stands on (or came from) the result subject, if anything.
 */
export const deriveSettlement = (
  call: CallRecord,
  claim: Claim | undefined,
  result: ResultMessage | undefined,
): Settlement => (call.claim === 'none' ? claimless(call, result) : claimed(call, claim, result));
